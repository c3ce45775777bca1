/// A broken invariant, as `PostgresJobQueue.check()` finds it.
public struct BrokenInvariant: Sendable {
    /// Which invariant.
    public let invariant: String
    /// Where: a job's or batch's number.
    public let subject: Int64?
    /// What was found.
    public let detail: String
}

extension PostgresJobQueue {
    /// Does whatever upkeep is due: promote delayed jobs, rescue those of dead workers, fold the ledger, finish batches,
    /// create partitions ahead. No leader: any number of processes may call it at any time; what another one is
    /// doing is skipped. Workers call it once a second. Returns how many rows were moved.
    ///
    /// `force` also does what is not due yet.
    @discardableResult
    public func tick(force: Bool = false) async throws(QueueError) -> Int {
        throw QueueError(.unreachable, "")
    }

    /// Proves the queue's invariants on the live system; no rows = sound.
    public func check() async throws(QueueError) -> [BrokenInvariant] {
        throw QueueError(.unreachable, "")
    }
}
