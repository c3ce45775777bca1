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
    /// doing is skipped. Workers call it a few times a second. Returns how many rows were moved.
    ///
    /// `force` also does what is not due yet. Runs beside the other calls, on a connection of its own, for 5 s at most, and never
    /// waits for a database that is away.
    @discardableResult
    public func tick(force: Bool = false) async throws(QueueError) -> Int {
        try await ask(
            "SELECT coalesce(sum(moved), 0) FROM larder.tick(\(force))", patience: .zero, on: upkeep
        ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
    }

    /// Proves the queue's invariants on the live system; no rows = sound. Reads everything.
    public func check() async throws(QueueError) -> [BrokenInvariant] {
        try await ask("SELECT invariant, subject, detail FROM larder.check() LIMIT 1000") { rows throws(QueueError) in
            (0..<rows.count).map { row in
                BrokenInvariant(
                    invariant: rows.text(row, 0) ?? "", subject: rows.integer(row, 1), detail: rows.text(row, 2) ?? "")
            }
        }
    }
}
