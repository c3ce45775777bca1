/// A worker of the last day, as in the view `larder.worker`.
package struct WorkerStatus: Sendable {
    /// New at each start.
    package let id: Int64
    package let name: String, host: String
    package let version: String
    /// Maximum and current jobs.
    package let slots: Int, running: Int
    /// `live`, `lost` or `stopped`.
    package let state: String
    /// ISO 8601 in UTC.
    package let startedAt: String, heartbeatAt: String
    /// The fault that prevents it from running any job; nil without one.
    package let fault: String?
}

package struct RunningJob: Sendable {
    package let job: Int64
    package let batch: Int64, batchName: String?
    /// The name is nil if the worker is no longer registered.
    package let worker: Int64, workerName: String?
    /// From 1.
    package let attempt: Int
    package let seconds: Double
    package let url: String
}

/// Items of all batches that ended in one minute.
package struct ThroughputMinute: Sendable {
    /// ISO 8601 in UTC.
    package let minute: String
    package let enqueued: Int, succeeded: Int, failed: Int, cancelled: Int
    /// Received bytes, and bytes of new files.
    package let bytesIn: Int, bytesOut: Int
}

extension PostgresJobQueue.Reports {
    /// Workers of the last day, live ones first, at most 1,000. For logins that may read views.
    package func workers() async throws(QueueError) -> [WorkerStatus] {
        try await database.read(
            """
            SELECT worker, name, host, version, slots, running, state, \(Self.iso("started_at")),
                \(Self.iso("heartbeat_at")), fault
            FROM larder.worker ORDER BY state = 'live' DESC, started_at DESC, worker LIMIT 1000
            """
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                WorkerStatus(
                    id: rows.integer(row, 0) ?? 0, name: rows.text(row, 1) ?? "", host: rows.text(row, 2) ?? "",
                    version: rows.text(row, 3) ?? "", slots: Int(rows.integer(row, 4) ?? 0),
                    running: Int(rows.integer(row, 5) ?? 0), state: rows.text(row, 6) ?? "",
                    startedAt: rows.text(row, 7) ?? "", heartbeatAt: rows.text(row, 8) ?? "", fault: rows.text(row, 9))
            }
        }
    }

    /// Running jobs of all workers, at most `limit`, longest-running first. For logins that may read views.
    package func runningJobs(limit: Int = 100) async throws(QueueError) -> [RunningJob] {
        try await running("(SELECT * FROM larder.running LIMIT \(max(0, limit)))")
    }

    /// - Parameter part: a query for rows of `larder.running`.
    func running(_ part: String) async throws(QueueError) -> [RunningJob] {
        try await database.read(
            """
            SELECT job_id, batch_id, batch, worker, worker_name, attempt, extract(epoch FROM running_for)::float8, url
            FROM \(part) AS part ORDER BY claimed_at, job_id
            """
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                RunningJob(
                    job: rows.integer(row, 0) ?? 0, batch: rows.integer(row, 1) ?? 0, batchName: rows.text(row, 2),
                    worker: rows.integer(row, 3) ?? 0, workerName: rows.text(row, 4),
                    attempt: Int(rows.integer(row, 5) ?? 0), seconds: rows.number(row, 6) ?? 0,
                    url: rows.text(row, 7) ?? "")
            }
        }
    }

    /// The last minutes with any activity, oldest first. For logins that may read views.
    package func throughput(minutes: Int = 60) async throws(QueueError) -> [ThroughputMinute] {
        try await database.read(
            """
            SELECT \(Self.iso("minute")), enqueued, succeeded, failed, cancelled, bytes_in, bytes_out
            FROM larder.throughput WHERE minute > now() - \(max(0, minutes)) * interval '1 min' ORDER BY minute
            """
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                ThroughputMinute(
                    minute: rows.text(row, 0) ?? "", enqueued: Int(rows.integer(row, 1) ?? 0),
                    succeeded: Int(rows.integer(row, 2) ?? 0), failed: Int(rows.integer(row, 3) ?? 0),
                    cancelled: Int(rows.integer(row, 4) ?? 0), bytesIn: Int(rows.integer(row, 5) ?? 0),
                    bytesOut: Int(rows.integer(row, 6) ?? 0))
            }
        }
    }
}
