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
    /// As many rows as promote, rescue and the sweeps move at most at a time: there may be more.
    public static let maintenancePortion = 5_000

    /// Does whatever maintenance is due: rescue the jobs of dead workers, promote scheduled ones, fold the ledger, finish
    /// batches, create partitions ahead, forget what is long over. No leader: any number of processes may call it at
    /// any time; what another one is doing is skipped. Workers call it once a second, and at once again while it moved a
    /// full portion. Returns the most rows that one task moved.
    ///
    /// What others wait for (rescue, promote, floors) is done in a transaction of its own, before the rest. `force` also does
    /// what is not due yet. Runs beside the other calls and the heartbeats, on a connection of its own, takes at most 5 s a
    /// statement (`.timeout`), and never waits for a database that is away. A task that fails does not keep the others from
    /// being done: its error is thrown after them, as `.refused`, and stands in the view `larder.maintenance`.
    @discardableResult
    public func maintain(force: Bool = false) async throws(QueueError) -> Int {
        let first: Result<Int, QueueError>
        do { first = .success(try await maintain(force, only: Self.urgent, on: maintenance)) } catch {
            first = .failure(error)
        }
        let rest = try await maintain(force, only: "NULL", on: maintenance)
        return max(try first.get(), rest)
    }

    /// Does what others wait for, where it is due: rescue, promote, floors. As `maintain(force:)`, but on a connection of its
    /// own: a day of history that is slow to drop keeps no dead worker's jobs from running again.
    @discardableResult
    public func maintainUrgent(force: Bool = false) async throws(QueueError) -> Int {
        try await maintain(force, only: Self.urgent, on: urgentUpkeep)
    }

    private static let urgent = "ARRAY['rescue', 'promote', 'cursors']"

    private func maintain(_ force: Bool, only tasks: String, on connection: Connection) async throws(QueueError) -> Int
    {
        try await ask(
            "SELECT task, moved, error, error_code FROM larder.maintain(\(force), \(tasks))", patience: .zero,
            on: connection
        ) { rows throws(QueueError) in
            for row in 0..<rows.count {
                guard let error = rows.text(row, 2) else { continue }
                throw QueueError(
                    .refused, "maintenance \(rows.text(row, 0) ?? ""): \(error.firstLine)", sqlState: rows.text(row, 3))
            }
            return (0..<rows.count).map { Int(rows.integer($0, 1) ?? 0) }.max() ?? 0
        }
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
