extension PostgresJobQueue {
    /// Opens a batch, or answers the open one of that name; nil makes a new nameless one.
    public func openBatch(
        name: String?, pipeline: String? = nil, priority: Int? = nil, queue: String = "default"
    ) async throws(QueueError) -> Int64 {
        throw QueueError(.unreachable, "")
    }

    /// Says that a batch is complete: it takes no more URLs and finishes with its last open item. Sealing twice is fine.
    public func seal(_ batch: BatchReference) async throws(QueueError) {
        throw QueueError(.unreachable, "")
    }
}
