extension PostgresJobQueue {
    /// Enqueues up to 10,000 URLs in one transaction; one answer per URL, in order.
    ///
    /// Not repeated when the connection breaks meanwhile (`.connectionLost`): repeating counts every item again.
    /// Throws `.batchClosed`, `.unknownPipeline`, `.unknownQueue`, `.unknownBatch`, `.invalidArgument`.
    public func enqueue(_ request: EnqueueRequest) async throws(QueueError) -> [EnqueueAnswer] {
        throw QueueError(.unreachable, "")
    }
}
