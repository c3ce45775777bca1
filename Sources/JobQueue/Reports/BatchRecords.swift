/// All records of a batch, read in pages.
package struct BatchRecords: AsyncSequence, AsyncIteratorProtocol {
    private let queue: PostgresJobQueue
    private let batch: Int64
    private var cursor = Int64.min
    private var page: ArraySlice<StoredRecord> = []

    package init(of batch: Int64, in queue: PostgresJobQueue) {
        self.queue = queue
        self.batch = batch
    }

    package func makeAsyncIterator() -> BatchRecords { self }

    package mutating func next() async throws(QueueError) -> StoredRecord? {
        if page.isEmpty { page = try await queue.reports.records(of: batch, after: cursor)[...] }
        cursor = page.last?.cursor ?? cursor
        return page.popFirst()
    }
}

extension PostgresJobQueue {
    /// The batch with this name, else with this number.
    ///
    /// - Throws: `.unknownBatch`.
    package func batch(called word: String) async throws(QueueError) -> BatchReference {
        do throws(QueueError) {
            return .id(try await reports.progress(of: .name(word)).id)
        } catch {
            guard error.code == .unknownBatch, let number = Int64(word) else { throw error }
            return .id(number)
        }
    }

    package func id(ofBatch name: String) async throws -> Int64 {
        try await reports.progress(of: try await batch(called: name)).id
    }

    /// The previous run of a named batch; nil if there is none or it has expired.
    package func previousRun(of progress: BatchProgress) async throws(QueueError) -> BatchProgress? {
        guard let name = progress.name, progress.run > 1 else { return nil }
        do throws(QueueError) {
            return try await reports.progress(of: .name("\(name)@\(progress.run - 1)"))
        } catch {
            guard error.code == .unknownBatch else { throw error }
            return nil
        }
    }
}
