import Concurrency
import DiskCache
import ImageModel
import JobQueue

extension PostgresJobQueue {
    /// The id of a batch given by name or number.
    func id(ofBatch name: String) async throws -> Int64 { try await progress(of: try await batch(called: name)).id }

    /// Calls `body` with every record of a batch that has stored files, reading a page of records at a time.
    func forEachRecord(of batch: Int64, _ body: (StoredRecord) async throws -> Void) async throws {
        var cursor = Cursor.start
        while true {
            let records = try await records(of: batch, after: cursor)
            guard let last = records.last else { return }
            cursor = last.cursor
            for record in records { try await body(record) }
        }
    }

    /// Calls `body` with each file that the jobs of a batch stored, once per file, and its manifest entry as read from the
    /// cache; nil when the cache no longer has it.
    func forEachFile(
        of batch: Int64, in place: CachePlace, _ body: (StoredFile, ManifestEntry?) throws -> Void
    ) async throws {
        var seen: Set<String> = []
        try await forEachRecord(of: batch) { record in
            for file in record.stored where file.path != nil {
                let key = CacheKey(file.key)
                guard seen.insert(place.store.naming.fileName(of: key)).inserted else { continue }
                var entry = try await place.disk.run { [store = place.store] in
                    try BundleExport(store).entry(for: key, format: file.format, width: file.width, height: file.height)
                }
                entry?.placeholder = record.stored.first { $0.name == nil }?.digest?.thumbHash
                try body(file, entry)
            }
        }
    }
}
