import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Reports

extension PostgresJobQueue {
    /// Calls `body` with each file that the jobs of a batch stored, once per file, and its manifest entry as read from
    /// the cache; nil when the cache no longer has it.
    func forEachFile(
        of batch: Int64, in place: CachePlace,
        _ body: (StoredRecord, StoredFile, ManifestEntry?) async throws -> Void
    ) async throws {
        var seen: Set<String> = []
        for try await record in BatchRecords(of: batch, in: self) {
            for file in record.stored where file.path != nil {
                let key = CacheKey(file.key)
                guard seen.insert(place.store.naming.fileName(of: key)).inserted else { continue }
                var entry = try await place.disk.run { [store = place.store] in
                    try BundleExport(store).entry(for: key, format: file.format, width: file.width, height: file.height)
                }
                entry?.placeholder = record.stored.first { $0.name == nil }?.digest?.thumbHash
                try await body(record, file, entry)
            }
        }
    }
}
