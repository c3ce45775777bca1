/// One start of one worker: a fresh identity, under which it claims, settles and beats.
///
/// Calls may come from several tasks; claims and settlements share one connection, heartbeats have their own.
public final class WorkerSession: Sendable {
    /// The worker's number, never used again.
    public let id: Int64
    /// How long the database waits after a heartbeat before it gives the jobs to others; 15 s by default.
    public let lease: Duration
    private let queue: PostgresJobQueue

    init(id: Int64, lease: Duration, queue: PostgresJobQueue) {
        self.id = id
        self.lease = lease
        self.queue = queue
    }

    /// Claims at most `limit` jobs, lowest priority number and oldest first.
    ///
    /// A claim whose answer was lost is answered again by the next call, so no job is held unknowingly.
    /// Throws `.workerLost` when the lease has run out: beat first.
    public func claim(upTo limit: Int) async throws(QueueError) -> [Job] {
        throw QueueError(.unreachable, "")
    }

    /// Records outcomes, all in one transaction, and tells what was decided, one settlement per outcome, in order.
    ///
    /// Idempotent: outcomes may be sent again when the answer was lost.
    public func settle(_ outcomes: [Outcome]) async throws(QueueError) -> [Settlement] {
        throw QueueError(.unreachable, "")
    }

    /// Gives jobs back unstarted: they are ready again at their old place, their attempt refunded.
    public func release(_ claims: [Claim]) async throws(QueueError) {
        throw QueueError(.unreachable, "")
    }

    /// Extends the lease of all the worker's jobs; due every 5 s. Never waits for a database that is away.
    public func beat() async throws(QueueError) -> BeatReply {
        throw QueueError(.unreachable, "")
    }

    /// Ends the worker: what it still holds is released.
    public func stop() async throws(QueueError) {
        throw QueueError(.unreachable, "")
    }
}

extension PostgresJobQueue {
    /// Registers a worker. Throws `.protocolMismatch` when the database does not offer this program's protocol.
    public func startWorker(_ description: WorkerDescription) async throws(QueueError) -> WorkerSession {
        throw QueueError(.unreachable, "")
    }
}
