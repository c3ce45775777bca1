/// The state of a queue, as the view `larder.queue` shows it.
package struct QueueStatus: Sendable {
    /// A limit of a queue over all workers.
    package enum Limit: String, Sendable {
        /// Jobs that run at once.
        case maxRunning = "max_running"
        /// Jobs that are claimed per second.
        case maxRate = "max_rate"
    }

    /// The name.
    package let name: String
    /// Whether an operator has paused it.
    package let isPaused: Bool
    /// Whether a job is ready.
    package let hasReady: Bool
    /// Jobs that run, with all workers.
    package let running: Int
    /// The most jobs that run at once; nil without limit.
    package let maxRunning: Int?
    /// The most jobs that are claimed per second; nil without limit.
    package let maxRate: Double?
    /// The limit for which no job can be claimed now; nil when the limits allow one.
    package let reachedLimit: Limit?
    /// Items of its batches that are not finished.
    package let openItems: Int
    /// Live workers of all queues, because a worker may claim from any.
    package let liveWorkers: Int
    /// Whether the newest jobs of a priority are claimed first.
    package let isNewestFirst: Bool
    /// Every Nth claim starts with one of the lower priorities; 0 never.
    package let lowPriorityEvery: Int
    /// How long a worker may hold a job.
    package let jobTimeout: Duration
    /// After how long its finished batches are deleted; nil is as long as `keep_history` of the settings.
    package let keepHistory: Duration?
}

extension PostgresJobQueue.Reports {
    /// The queues, by name. For a login that may read views.
    package func queues() async throws(QueueError) -> [QueueStatus] {
        try await database.read(
            """
            SELECT queue, paused_at IS NOT NULL, has_ready, running, max_running, max_rate, limit_reached, open_items,
                live_workers, lifo, low_priority_every, extract(epoch FROM job_timeout)::bigint,
                extract(epoch FROM keep_history)::bigint
            FROM larder.queue ORDER BY queue
            """
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                QueueStatus(
                    name: rows.text(row, 0) ?? "", isPaused: rows.flag(row, 1) ?? false,
                    hasReady: rows.flag(row, 2) ?? false, running: Int(rows.integer(row, 3) ?? 0),
                    maxRunning: rows.integer(row, 4).map(Int.init), maxRate: rows.number(row, 5),
                    reachedLimit: rows.text(row, 6).flatMap(QueueStatus.Limit.init(rawValue:)),
                    openItems: Int(rows.integer(row, 7) ?? 0), liveWorkers: Int(rows.integer(row, 8) ?? 0),
                    isNewestFirst: rows.flag(row, 9) ?? false, lowPriorityEvery: Int(rows.integer(row, 10) ?? 0),
                    jobTimeout: .seconds(rows.integer(row, 11) ?? 0),
                    keepHistory: rows.integer(row, 12).map { .seconds($0) })
            }
        }
    }
}
