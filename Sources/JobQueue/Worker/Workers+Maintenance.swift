/// The kinds of maintenance tasks. Urgent ones wait for none of the others; tasks of the other kinds run one at a time.
public enum MaintenanceKind: String, Sendable, CaseIterable {
    /// Other work waits for these: rescue the jobs of dead workers, promote scheduled jobs, update claim positions.
    case urgent
    /// All other tasks of `larder.maintain()`: fold counts, finish batches, create and drop partitions, purge.
    case routine
    /// Statements that cannot run in a function: vacuum and concurrent detach. Skipped for a login that may not act as
    /// the owner of the tables; autovacuum and the task retention then do the work.
    case owner
    /// Enqueues the schedules that are due. Their queries may take long.
    case schedule
}

/// What a run of maintenance tasks did.
package struct MaintenanceRun: Sendable {
    /// The most rows that one task moved.
    package let moved: Int
    /// Whether jobs became ready.
    package let foundJobs: Bool

    /// The tasks that make jobs ready.
    static let finders: Set = ["rescue", "promote", "resumed"]
}

extension PostgresJobQueue.Workers {
    /// The most rows that one run of a task moves; after as many, more may be due.
    public static let maintenancePortion = 5_000

    /// Runs the maintenance tasks of one kind that are due, and returns the most rows that one of them moved: of `.owner`
    /// how many tables were vacuumed or dropped, of `.schedule` a full portion when one ran.
    ///
    /// There is no leader: any number of processes may call this at any time, and a task that another one runs is
    /// skipped. `force` also runs tasks that are not due, except the tasks of `.owner` and `.schedule`. Throws `.refused`
    /// after the other tasks when one fails; the views `larder.maintenance` and `larder.schedule` show its error. Never
    /// waits for an unreachable database. A statement takes at most 5 s, of `.owner` 10 s, of `.schedule` 60 s.
    @discardableResult
    public func maintain(_ kind: MaintenanceKind, force: Bool = false) async throws(QueueError) -> Int {
        try await run(kind, force: force).moved
    }

    /// As `maintain`, and tells whether jobs became ready.
    package func run(_ kind: MaintenanceKind, force: Bool = false) async throws(QueueError) -> MaintenanceRun {
        if kind == .owner { return MaintenanceRun(moved: try await runOwnerStatements(), foundJobs: false) }
        if kind == .schedule {
            // Another schedule may be due.
            let hasRun = try await runDueSchedule()
            return MaintenanceRun(moved: hasRun ? Self.maintenancePortion : 0, foundJobs: hasRun)
        }
        return try await database.ask(
            "SELECT task, moved, error, error_code FROM larder.maintain(\(force), $1)", [.text(kind.rawValue)],
            maxWait: .zero, on: database.connection(for: kind)
        ) { rows throws(QueueError) in
            for row in 0..<rows.count {
                guard let error = rows.text(row, 2) else { continue }
                throw QueueError(
                    .refused, "maintenance \(rows.text(row, 0) ?? ""): \(error.firstLine)", sqlState: rows.text(row, 3))
            }
            let moved = (0..<rows.count).map { (task: rows.text($0, 0) ?? "", rows: Int(rows.integer($0, 1) ?? 0)) }
            return MaintenanceRun(
                moved: moved.map(\.rows).max() ?? 0,
                foundJobs: moved.contains { $0.rows > 0 && MaintenanceRun.finders.contains($0.task) })
        }
    }

    /// Runs the urgent tasks, then the routine ones, and returns the most rows that one of them moved.
    @discardableResult
    public func maintain(force: Bool = false) async throws(QueueError) -> Int {
        let urgent: Result<Int, QueueError>
        do { urgent = .success(try await maintain(.urgent, force: force)) } catch { urgent = .failure(error) }
        let routine = try await maintain(.routine, force: force)
        return max(try urgent.get(), routine)
    }

    /// Returns how many tables were vacuumed or dropped.
    private func runOwnerStatements() async throws(QueueError) -> Int {
        let connection = database.connection(for: .owner)
        // From the catalog: a login without the right cannot even name the schema.
        let isOwner = try await database.ask(
            """
            SELECT pg_has_role(c.relowner, 'USAGE')
            FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'larder_data' AND c.relname = 'maintenance'
            """, maxWait: .zero, on: connection
        ) { rows throws(QueueError) in rows.count > 0 && rows.flag(0, 0) == true }
        guard isOwner else { return 0 }
        let due = try await database.ask(
            "SELECT statement, next_statement FROM larder_data.owner_statements()", repeating: .onlyUndone,
            maxWait: .zero, on: connection
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in [rows.text(row, 0), rows.text(row, 1)].compactMap(\.self) }
        }
        var completed = 0
        for statements in due {
            do throws(QueueError) {
                for statement in statements {
                    try await database.ask(
                        statement, repeating: .onlyUndone, maxWait: .zero, isTopLevel: true, on: connection
                    ) { _ throws(QueueError) in }
                }
                completed += 1
            } catch {
                // A long reader of the table: a later call continues, and the view larder.health reports it.
                guard error.code == .timeout else { throw error }
            }
        }
        return completed
    }
}
