private import Concurrency

extension PostgresJobQueue.Operations {
    /// Pauses a queue: its jobs are not claimed, but it still accepts URLs. Throws `.unknownQueue`.
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
    ///   - lowPriorityEvery: every Nth claim starts with a lower priority, in turn; 0 (never) to 1000, 8 by default.
    ///   - jobTimeout: how long a worker may hold a job; at least 1 s, 10 min by default.
    ///   - keepHistory: how long finished batches and their records are kept; 1 h to 10 years, by default the setting
    ///     `keep_history`.
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

    /// Sets both limits of a queue over all workers. Throws `.unknownQueue` and `.invalidArgument`.
    ///
    /// - Parameters:
    ///   - maxRunning: jobs that run at once, at least 1; nil is no limit. After a limit is lowered, no job is claimed
    ///     until enough have ended.
    ///   - maxRate: jobs claimed per second, 0.001 to 1,000,000; nil is no limit. A single claim may take one second's
    ///     jobs, at least one.
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
