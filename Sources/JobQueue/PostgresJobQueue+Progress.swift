extension PostgresJobQueue {
    /// Where a batch stands. Throws `.unknownBatch`.
    public func progress(of batch: BatchReference) async throws(QueueError) -> BatchProgress {
        throw QueueError(.unreachable, "")
    }

    /// Where the newest batches stand, newest first.
    public func progress(limit: Int = 100) async throws(QueueError) -> [BatchProgress] {
        throw QueueError(.unreachable, "")
    }

    /// What is left to do of a batch; nil is the whole database.
    public func remaining(of batch: Int64? = nil) async throws(QueueError) -> Remaining {
        throw QueueError(.unreachable, "")
    }
}
