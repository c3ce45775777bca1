extension PostgresJobQueue {
    /// The report of a batch. Throws `.unknownBatch`.
    public func report(on batch: BatchReference) async throws(QueueError) -> BatchReport {
        throw QueueError(.unreachable, "")
    }

    /// One page of a batch's failures.
    public func failures(
        of batch: Int64, after cursor: Cursor = .start, limit: Int = 1_000
    ) async throws(QueueError) -> [FailureRecord] {
        throw QueueError(.unreachable, "")
    }

    /// One page of everything that ended in a batch, successes and failures, with what was stored.
    public func records(
        of batch: Int64, after cursor: Cursor = .start, limit: Int = 1_000
    ) async throws(QueueError) -> [StoredRecord] {
        throw QueueError(.unreachable, "")
    }
}
