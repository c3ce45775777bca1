import Concurrency
import DiskCache
import ImageModel
import JobQueue
import Reports
import Terminal

extension PostgresJobQueue {
    /// Calls `body` once with each file stored by a batch's jobs, and its manifest entry as read from the cache; nil if
    /// the cache no longer has the file.
    func forEachFile(
        of batch: Int64, in place: CachePlace,
        _ body: (StoredRecord, StoredFile, ManifestEntry?) async throws -> Void
    ) async throws {
        var seen: Set<[UInt8]> = []
        for try await record in BatchRecords(of: batch, in: self) {
            for file in record.stored where file.path != nil {
                guard seen.insert(Array(file.key.utf8)).inserted else { continue }
                let key = CacheKey(file.key)
                var entry = try await place.disk.run { [store = place.store] in
                    try BundleExport(store).entry(for: key, format: file.format, width: file.width, height: file.height)
                }
                entry?.placeholder = record.stored.first { $0.name == nil }?.digest?.thumbHash
                try await body(record, file, entry)
            }
        }
    }
}

/// The cache's current state of a recorded file.
enum RecordedFile: Sendable {
    /// The file, with the recorded digest if there is one.
    case found(OpenFile)
    case changed
    case missing

    /// Opens a recorded file by its key and reads it completely. Blocks.
    init(_ file: StoredFile, in store: any ImageStore) throws(StoreError) {
        guard let found = try store.peek(CacheKey(file.key)), found.size > 0 else {
            self = .missing
            return
        }
        let isSame = try file.sha256.map { (digest) throws(StoreError) in try found.sha256() == digest } ?? true
        self = isSame ? .found(found) : .changed
    }

    /// The file; otherwise nil, with a note on standard error.
    func noted(_ key: String) -> OpenFile? {
        switch self {
        case .found(let file): return file
        case .changed: Console.note("larder: changed since the batch stored it: \(ShownURL.masked(key))")
        case .missing: Console.note("larder: no longer in the cache: \(ShownURL.masked(key))")
        }
        return nil
    }
}
