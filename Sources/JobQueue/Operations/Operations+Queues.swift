private import Concurrency

extension PostgresJobQueue.Operations {
    /// Pauses a queue: its jobs are not claimed; it still accepts URLs. Throws `.unknownQueue`.
    package func pause(queue: String) async throws(QueueError) {
        try await database.ask("SELECT larder.queue_pause($1)", [.text(queue)]) { _ throws(QueueError) in }
    }

    /// Resumes a paused queue. Throws `.unknownQueue`.
    package func resume(queue: String) async throws(QueueError) {
        try await database.ask("SELECT larder.queue_resume($1)", [.text(queue)]) { _ throws(QueueError) in }
    }

    /// Creates or changes a queue; nil keeps a setting. Throws `.invalidArgument`.
    ///
    /// - Parameters:
    ///   - lifo: newest first within a priority; false by default.
    ///   - lowPriorityEvery: every Nth claim starts with one of the lower priorities, each in turn; 0 to 1000, 0 never;
    ///     8 by default.
    ///   - jobTimeout: how long a worker may hold a job; at least 1 s, 10 min by default.
    ///   - keepHistory: after how long its finished batches are deleted with their records; 1 h to 10 years, as long as
    ///     `keep_history` of the settings says by default.
    package func setQueue(
        _ queue: String, lifo: Bool? = nil, lowPriorityEvery: Int? = nil, jobTimeout: Duration? = nil,
        keepHistory: Duration? = nil
    ) async throws(QueueError) {
        try await database.ask(
            """
            SELECT larder.queue_set(
                $1, $2::boolean, $3::int, $4::float8 * interval '1 ms', $5::float8 * interval '1 ms')
            """,
            [
                .text(queue), .text(lifo.map { $0 ? "true" : "false" }), .integer(lowPriorityEvery.map(Int64.init)),
                .integer(jobTimeout?.milliseconds), .integer(keepHistory?.milliseconds),
            ]
        ) { _ throws(QueueError) in }
    }

    /// Sets both limits of a queue, over all workers. Throws `.unknownQueue` and `.invalidArgument`.
    ///
    /// - Parameters:
    ///   - maxRunning: the most jobs that run at once, at least 1; nil is no limit. While more run than a lowered
    ///     limit, none is claimed.
    ///   - maxRate: the most jobs that are claimed per second, 0.001 to 1,000,000; nil is no limit. As many, and at
    ///     least one, may be claimed at once.
    package func limitQueue(_ queue: String, maxRunning: Int?, maxRate: Double?) async throws(QueueError) {
        try await database.ask(
            "SELECT larder.queue_limit($1, $2::int, $3::float8)",
            [
                .text(queue), .integer(maxRunning.map { Int64(Int32(clamping: $0)) }),
                .text(maxRate.map { String($0) }),
            ]
        ) { _ throws(QueueError) in }
    }
}
