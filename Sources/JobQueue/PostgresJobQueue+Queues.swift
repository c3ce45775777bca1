private import Concurrency

/// The state of a queue, as the view `larder.queue` shows it.
public struct QueueStatus: Sendable {
    /// A limit of a queue over all workers.
    public enum Limit: String, Sendable {
        /// Jobs that run at once.
        case maxRunning = "max_running"
        /// Jobs that are claimed per second.
        case maxRate = "max_rate"
    }

    /// The name.
    public let name: String
    /// Whether an operator has paused it.
    public let isPaused: Bool
    /// Whether a job is ready.
    public let hasReady: Bool
    /// Jobs that run, with all workers.
    public let running: Int
    /// The most jobs that run at once; nil without limit.
    public let maxRunning: Int?
    /// The most jobs that are claimed per second; nil without limit.
    public let maxRate: Double?
    /// The limit for which no job can be claimed now; nil when the limits allow one.
    public let reachedLimit: Limit?
    /// Items of its batches that are not finished.
    public let openItems: Int
    /// Live workers of all queues, because a worker may claim from any.
    public let liveWorkers: Int
}

extension PostgresJobQueue {
    /// The queues, by name. For a login that may read views.
    public func queues() async throws(QueueError) -> [QueueStatus] {
        try await ask(
            """
            SELECT queue, paused_at IS NOT NULL, has_ready, running, max_running, max_rate, limit_reached, open_items,
                live_workers
            FROM larder.queue ORDER BY queue
            """
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                QueueStatus(
                    name: rows.text(row, 0) ?? "", isPaused: rows.flag(row, 1) ?? false,
                    hasReady: rows.flag(row, 2) ?? false, running: Int(rows.integer(row, 3) ?? 0),
                    maxRunning: rows.integer(row, 4).map(Int.init), maxRate: rows.number(row, 5),
                    reachedLimit: rows.text(row, 6).flatMap(QueueStatus.Limit.init(rawValue:)),
                    openItems: Int(rows.integer(row, 7) ?? 0), liveWorkers: Int(rows.integer(row, 8) ?? 0))
            }
        }
    }

    /// Pauses a queue: its jobs are not claimed; it still accepts URLs. Throws `.unknownQueue`.
    public func pause(queue: String) async throws(QueueError) {
        try await ask("SELECT larder.queue_pause($1)", [.text(queue)]) { _ throws(QueueError) in }
    }

    /// Resumes a paused queue. Throws `.unknownQueue`.
    public func resume(queue: String) async throws(QueueError) {
        try await ask("SELECT larder.queue_resume($1)", [.text(queue)]) { _ throws(QueueError) in }
    }

    /// Creates or changes a queue; nil keeps a setting. Throws `.invalidArgument`.
    ///
    /// - Parameters:
    ///   - lifo: newest first within a priority; false by default.
    ///   - lowPriorityEvery: every Nth claim starts with one of the lower priorities, each in turn; 0 to 1000, 0 never;
    ///     8 by default.
    ///   - jobTimeout: how long a worker may hold a job; at least 1 s, 10 min by default.
    public func setQueue(
        _ queue: String, lifo: Bool? = nil, lowPriorityEvery: Int? = nil, jobTimeout: Duration? = nil
    ) async throws(QueueError) {
        try await ask(
            "SELECT larder.queue_set($1, $2::boolean, $3::int, $4::float8 * interval '1 ms')",
            [
                .text(queue), .text(lifo.map { $0 ? "true" : "false" }), .integer(lowPriorityEvery.map(Int64.init)),
                .integer(jobTimeout?.milliseconds),
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
    public func limitQueue(_ queue: String, maxRunning: Int?, maxRate: Double?) async throws(QueueError) {
        try await ask(
            "SELECT larder.queue_limit($1, $2::int, $3::float8)",
            [
                .text(queue), .integer(maxRunning.map { Int64(Int32(clamping: $0)) }),
                .text(maxRate.map { String($0) }),
            ]
        ) { _ throws(QueueError) in }
    }
}
