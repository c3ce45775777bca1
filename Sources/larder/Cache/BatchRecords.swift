import Concurrency
import DiskCache
import ImageModel
import JobQueue

/// All records of a batch, read page by page.
struct BatchRecords: AsyncSequence, AsyncIteratorProtocol {
    private let queue: PostgresJobQueue
    private let batch: Int64
    private var cursor = Cursor.start
    private var page: ArraySlice<StoredRecord> = []

    init(of batch: Int64, in queue: PostgresJobQueue) {
        self.queue = queue
        self.batch = batch
    }

    func makeAsyncIterator() -> BatchRecords { self }

    mutating func next() async throws(QueueError) -> StoredRecord? {
        if page.isEmpty { page = try await queue.records(of: batch, after: cursor)[...] }
        cursor = page.last?.cursor ?? cursor
        return page.popFirst()
    }
}

extension PostgresJobQueue {
    /// The batch with this name, else the batch with this number.
    ///
    /// - Throws: `.unknownBatch`.
    func batch(called word: String) async throws(QueueError) -> BatchReference {
        do throws(QueueError) {
            return .id(try await progress(of: .name(word)).id)
        } catch {
            guard error.code == .unknownBatch, let number = Int64(word) else { throw error }
            return .id(number)
        }
    }

    /// The id of a batch given by name or number.
    func id(ofBatch name: String) async throws -> Int64 { try await progress(of: try await batch(called: name)).id }

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
