/// A queue, as in the view `larder.queue`.
package struct QueueStatus: Sendable {
    /// A limit over all workers.
    package enum Limit: String, Sendable {
        /// Jobs that run at once.
        case maxRunning = "max_running"
        /// Jobs that are claimed per second.
        case maxRate = "max_rate"
    }

    package let name: String
    package let isPaused: Bool
    package let hasReady: Bool
    /// Running jobs on all workers.
    package let running: Int
    /// Jobs that run at once; nil without limit.
    package let maxRunning: Int?
    /// Jobs claimed per second; nil without limit.
    package let maxRate: Double?
    /// The limit that prevents a claim now; nil if none does.
    package let reachedLimit: Limit?
    /// Unfinished items of its batches.
    package let openItems: Int
    /// Live workers of all queues, since a worker may claim from any.
    package let liveWorkers: Int
    /// Whether the newest jobs of a priority are claimed first.
    package let isNewestFirst: Bool
    /// Every Nth claim starts with a lower priority; 0 never.
    package let lowPriorityEvery: Int
    /// How long a worker may hold a job.
    package let jobTimeout: Duration
    /// How long finished batches are kept; nil uses the setting `keep_history`.
    package let keepHistory: Duration?
}

extension PostgresJobQueue.Reports {
    /// Queues by name. For logins that may read views.
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
