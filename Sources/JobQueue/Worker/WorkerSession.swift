internal import Concurrency

/// One start of one worker: a fresh identity, under which it claims, completes and heartbeats.
///
/// Calls may come from several tasks; claims have a connection of their own, and so have heartbeats.
public final class WorkerSession: Sendable {
    /// The worker's number, never used again.
    public let id: Int64
    /// How long the database waits after a heartbeat before it gives the jobs to others; 15 s by default.
    public let lease: Duration
    let queue: PostgresJobQueue
    let claims = Locked(ClaimSequence())

    init(id: Int64, lease: Duration, queue: PostgresJobQueue) {
        self.id = id
        self.lease = lease
        self.queue = queue
    }

    /// Claims at most `limit` jobs (1…1,000) of a queue, lowest priority number and oldest first.
    ///
    /// A claim whose answer was lost is answered again by the next call, so no job is held unknowingly; that answer
    /// may be longer than the next call's limit, never longer than the lost one's.
    /// Throws `.workerLost` when the lease has run out: start anew. Throws `.unknownQueue`.
    public func claim(upTo limit: Int, from queueName: String = "default") async throws(QueueError) -> [Job] {
        try await claim(upTo: limit, from: .queue(queueName))
    }

    /// Claims at most `limit` jobs (1…1,000) that a batch wants and no others: its own and those it has joined, in
    /// whatever queue they stand, the oldest first whatever their priority.
    ///
    /// Nothing while the batch is paused, or when it is cancelled or finished. A lost answer as in `claim(upTo:from:)`.
    /// Throws `.workerLost` when the lease has run out: start anew. Throws `.unknownBatch`.
    public func claim(upTo limit: Int, ofBatch batch: Int64) async throws(QueueError) -> [Job] {
        try await claim(upTo: limit, from: .batch(batch))
    }

    /// Claims from either.
    package func claim(upTo limit: Int, from source: ClaimSource) async throws(QueueError) -> [Job] {
        let (ticket, floors) = claims.withLock { ($0.take(), $0.floors[source]?.current()) }
        do throws(QueueError) {
            let jobs: [Job]
            do throws(QueueError) {
                jobs = try await claim(ticket, limit, from: source, behind: floors)
            } catch {
                guard error.code == .connectionLost, !ticket.isAgain, !Task.isCancelled else { throw error }
                let again = ClaimSequence.Ticket(number: ticket.number, isAgain: true)
                jobs = try await claim(again, limit, from: source, behind: nil)
            }
            claims.withLock { $0.note(jobs, of: limit, from: source) }
            return jobs
        } catch {
            claims.withLock { $0.unanswered.append(ticket.number) }
            throw error
        }
    }

    /// One claim; repeated only when it is known that it did not take effect, or the database is told that it may have.
    private func claim(
        _ ticket: ClaimSequence.Ticket, _ limit: Int, from source: ClaimSource, behind floors: [Int64]?
    ) async throws(QueueError) -> [Job] {
        let statement = Statement(claiming: limit, from: source, behind: floors, by: id, ticket)
        return try await queue.ask(
            statement.sql, statement.parameters, repeating: ticket.isAgain ? .harmless : .onlyUndone, on: queue.claims
        ) { rows throws(QueueError) in try rows.jobs(claim: ticket.number) }
    }

    /// Gives jobs back unstarted: they are ready again at their old place, their attempt refunded. Claims no longer held
    /// are passed over.
    public func release(_ claims: [Claim]) async throws(QueueError) {
        guard !claims.isEmpty else { return }
        defer { self.claims.withLock { $0.floors = [:] } }
        try await queue.ask(
            "SELECT larder.release_v1($1, $2, $3)",
            [.integer(id), .integers(claims.map(\.job)), .integers(claims.map(\.number))]
        ) { _ throws(QueueError) in }
    }

    /// Extends the lease of all the worker's jobs; due every 5 s. Never waits for a database that is away.
    ///
    /// A lease that has run out is not extended: the reply says `leaseWasLost`, and this session is of no more use but
    /// to complete what nobody else was given yet. Throws `.workerLost` when the worker was stopped.
    public func heartbeat() async throws(QueueError) -> HeartbeatReply {
        try await queue.ask(
            """
            SELECT lease_ms, lease_was_lost, c.job, c.claim FROM larder.heartbeat_v1($1) AS b
            LEFT JOIN LATERAL unnest(b.cancelled_jobs, b.cancelled_claims) AS c (job, claim) ON true
            """, [.integer(id)], patience: .zero, on: queue.heartbeats
        ) { rows throws(QueueError) in
            guard let lease = rows.integer(0, 0), let wasLost = rows.flag(0, 1) else {
                throw QueueError(.unexpectedAnswer, "an incomplete answer to a heartbeat")
            }
            let cancelled = (0..<rows.count).compactMap { row -> Claim? in
                guard let job = rows.integer(row, 2), let number = rows.integer(row, 3) else { return nil }
                return Claim(job: job, number: number)
            }
            return HeartbeatReply(cancelled: cancelled, leaseWasLost: wasLost, lease: .milliseconds(lease))
        }
    }

    /// Ends the worker: what it still holds is released. Stopping twice is fine.
    public func stop() async throws(QueueError) {
        try await queue.ask("SELECT larder.worker_stop_v1($1)", [.integer(id)]) { _ throws(QueueError) in }
    }
}

extension PostgresJobQueue {
    /// Registers a worker. Throws `.protocolMismatch` when the database does not offer this program's protocol,
    /// `.notMigrated`, `.invalidArgument`.
    public func startWorker(_ description: WorkerDescription) async throws(QueueError) -> WorkerSession {
        let (id, lease) = try await ask(
            "SELECT worker_id, lease_ms FROM larder.worker_start_v1($1, $2, $3::int, $4, $5::int, $6)",
            [
                .text(description.name), .text(description.host), .integer(Int64(description.processID)),
                .text(description.version), .integer(Int64(description.slots)), .text(description.cacheID),
            ]
        ) { rows throws(QueueError) in
            guard let id = rows.integer(0, 0), let lease = rows.integer(0, 1) else {
                throw QueueError(.unexpectedAnswer, "no number for the worker")
            }
            return (id, lease)
        }
        return WorkerSession(id: id, lease: .milliseconds(lease), queue: self)
    }
}
