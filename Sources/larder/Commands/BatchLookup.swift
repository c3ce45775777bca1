import JobQueue

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

    /// Passes the records of a batch to `body`, page by page, until it returns false.
    func visitRecords(of batch: Int64, _ body: (StoredRecord) async throws -> Bool) async throws {
        var cursor = Cursor.start
        while true {
            let page = try await records(of: batch, after: cursor)
            for record in page {
                guard try await body(record) else { return }
            }
            guard let last = page.last else { return }
            cursor = last.cursor
        }
    }
}
