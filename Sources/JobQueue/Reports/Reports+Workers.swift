/// A worker of the last day, as the view `larder.worker` shows it.
package struct WorkerStatus: Sendable {
    /// Its number, new at each start.
    package let id: Int64
    /// Name and host.
    package let name: String, host: String
    /// Its version of Larder.
    package let version: String
    /// The jobs that it may hold, and those that it holds.
    package let slots: Int, running: Int
    /// `live`, `lost` or `stopped`.
    package let state: String
    /// ISO 8601 in UTC.
    package let startedAt: String, heartbeatAt: String
    /// The fault that keeps it unable to run any job; nil without one.
    package let fault: String?
}

/// A job that runs.
package struct RunningJob: Sendable {
    /// The job.
    package let job: Int64
    /// Its batch: id, and name or nil.
    package let batch: Int64, batchName: String?
    /// The worker that holds it, and that worker's name, nil when it is not registered any more.
    package let worker: Int64, workerName: String?
    /// The present attempt, from 1.
    package let attempt: Int
    /// Since when it runs.
    package let seconds: Double
    /// The URL as given.
    package let url: String
}

/// What ended in a minute, in items of all batches.
package struct ThroughputMinute: Sendable {
    /// ISO 8601 in UTC.
    package let minute: String
    /// Items.
    package let enqueued: Int, succeeded: Int, failed: Int, cancelled: Int
    /// Bytes received, and bytes of new files.
    package let bytesIn: Int, bytesOut: Int
}

extension PostgresJobQueue.Reports {
    /// The workers of the last day, live ones first, at most 1,000. For a login that may read views.
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

    /// Jobs that run, of all workers: those that run longest among `limit` of them. For a login that may read views.
    package func runningJobs(limit: Int = 100) async throws(QueueError) -> [RunningJob] {
        try await running("(SELECT * FROM larder.running LIMIT \(max(0, limit)))")
    }

    /// - Parameter part: a query of rows of `larder.running`.
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

    /// The last minutes in which something was enqueued or ended, oldest first. For a login that may read views.
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
