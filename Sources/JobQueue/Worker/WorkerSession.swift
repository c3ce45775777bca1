internal import Concurrency

/// One start of a worker: a new identity for claims, completions and heartbeats.
///
/// Several tasks may call it; claims, heartbeats and other calls do not wait for each other.
public final class WorkerSession: Sendable {
    /// The worker's id, never reused.
    public let id: Int64
    /// Time after a heartbeat until the database gives the jobs to other workers; 15 s by default.
    public let lease: Duration
    /// How far this machine's clock was ahead of the database's at the start, see `HeartbeatReply.clockOffset`.
    public let clockOffset: Duration
    let queue: PostgresJobQueue
    let claims = Locked(ClaimSequence())

    /// Pause between heartbeats in a small fleet, and before the first one.
    package static let heartbeatPause = Duration.milliseconds(750)

    init(id: Int64, lease: Duration, clockOffset: Duration = .zero, queue: PostgresJobQueue) {
        self.id = id
        self.lease = lease
        self.clockOffset = clockOffset
        self.queue = queue
    }

    /// Extends the lease of all the worker's jobs; due after `HeartbeatReply.pause`, at least every 5 s. Does not wait
    /// for an unreachable database.
    ///
    /// An expired lease is not extended, see `HeartbeatReply.leaseExpired`. Throws `.workerLost` if the worker was
    /// stopped.
    public func heartbeat() async throws(QueueError) -> HeartbeatReply {
        let sent = TimeOfDay.now
        return try await queue.ask(
            """
            SELECT lease_ms, lease_expired, c.job, c.claim, extract(epoch FROM clock_timestamp()),
                b.maintenance_due, b.pause_ms
            FROM larder.heartbeat_v1($1, $2) AS b
            LEFT JOIN LATERAL unnest(b.cancelled_jobs, b.cancelled_claims) AS c (job, claim) ON true
            """, [.integer(id), .integer(claims.withLock { $0.oldest })], cancellation: .never,
            maxWait: .zero, on: queue.heartbeats
        ) { rows throws(QueueError) in
            guard let lease = rows.integer(0, 0), let expired = rows.flag(0, 1), let pause = rows.integer(0, 6) else {
                throw QueueError(.unexpectedAnswer, "an incomplete answer to a heartbeat")
            }
            let cancelled = (0..<rows.count).compactMap { row -> Claim? in
                guard let job = rows.integer(row, 2), let number = rows.integer(row, 3) else { return nil }
                return Claim(job: job, number: number)
            }
            return HeartbeatReply(
                cancelled: cancelled, leaseExpired: expired, lease: .milliseconds(lease),
                pause: .milliseconds(pause), isMaintenanceDue: rows.flag(0, 5) ?? false,
                clockOffset: TimeOfDay.offset(of: rows.number(0, 4), sent: sent))
        }
    }

    /// Reports the worker's fault in `larder.health`: what it lacks for every job, or an unusable credential profile;
    /// nil clears it. May be repeated.
    public func report(fault: String?) async throws(QueueError) {
        try await queue.ask(
            "SELECT larder.worker_fault_v1($1, $2)", [.integer(id), .text(fault)], cancellation: .never
        ) { _ throws(QueueError) in }
    }

    /// Makes this worker the only drain of the queue into its cache on its host, until it stops or its lease ends.
    ///
    /// Returns the worker that already drains; nil if there is none. May be repeated. Throws `.unknownQueue`,
    /// `.workerLost`.
    package func startDrain(of name: String) async throws(QueueError) -> OtherDrain? {
        try await queue.ask(
            """
            SELECT pid, date_part('epoch', clock_timestamp() - started_at)::bigint
            FROM larder.drain_start_v1($1, $2)
            """, [.integer(id), .text(name)], cancellation: .never
        ) { rows throws(QueueError) in
            guard rows.count > 0 else { return nil }
            return OtherDrain(processID: rows.integer(0, 0).map { Int($0) }, age: .seconds(rows.integer(0, 1) ?? 0))
        }
    }

    /// Ends the worker and releases its jobs. May be repeated.
    public func stop() async throws(QueueError) {
        try await queue.ask(
            "SELECT larder.worker_stop_v1($1)", [.integer(id)], cancellation: .never, on: queue.heartbeats
        ) { _ throws(QueueError) in }
    }
}
