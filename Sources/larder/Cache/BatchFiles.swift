import Concurrency
import DiskCache
import ImageModel
import JobQueue

/// What the jobs of a batch stored, as the cache has it now: the only place where the records of the queue and the files of
/// the cache meet.
struct BatchFiles {
    let queue: PostgresJobQueue
    let place: CachePlace

    /// Goes through the files of a batch, each once, a page of records at a time.
    ///
    /// - Parameter body: told of the record's file and its entry; nil where the cache has it no longer.
    func visit(_ batch: Int64, _ body: (StoredFile, ManifestEntry?) throws -> Void) async throws {
        var seen: Set<String> = []
        var cursor = Cursor.start
        while true {
            let records = try await queue.records(of: batch, after: cursor)
            guard let last = records.last else { return }
            cursor = last.cursor
            for (record, file) in records.flatMap({ record in record.stored.map { (record, $0) } })
            where file.path != nil {
                let key = CacheKey(file.key)
                guard seen.insert(key.fileName).inserted else { continue }
                let placeholder = record.stored.first { $0.name == nil }?.digest?.thumbHash
                var entry = try await place.disk.run { [layout = place.layout] in
                    try BundleExport(layout).entry(
                        for: key, format: file.format, width: file.width, height: file.height)
                }
                entry?.placeholder = placeholder
                try body(file, entry)
            }
        }
    }
}
