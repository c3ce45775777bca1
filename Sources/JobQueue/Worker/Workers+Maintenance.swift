/// The kinds of maintenance. Urgent tasks wait for no other kind; the other kinds run one at a time.
public enum MaintenanceKind: String, Sendable, CaseIterable {
    /// Other work waits for these: rescue dead workers' jobs, promote scheduled jobs, update claim positions.
    case urgent
    /// All other tasks of `larder.maintain()`: fold counts, finish batches, create and drop partitions, purge.
    case routine
    /// Statements that cannot run in a function: vacuum and concurrent detach. Skipped for a login that does not own
    /// the tables; autovacuum and the task retention then do the work.
    case owner
    /// Enqueues due schedules. Their queries may take long.
    case schedule
}

package struct MaintenanceRun: Sendable {
    /// The most rows moved by one task.
    package let moved: Int
    /// Whether jobs became ready.
    package let foundJobs: Bool

    /// The tasks that make jobs ready.
    static let finders: Set = ["rescue", "promote", "resumed"]
}

extension PostgresJobQueue.Workers {
    /// Maximum rows moved by one run of a task; after that many, more may be due.
    public static let maintenancePortion = 5_000

    /// Runs the due maintenance tasks of one kind and returns the most rows moved by one of them; for `.owner` the
    /// number of tables vacuumed or dropped, for `.schedule` a full portion if one ran.
    ///
    /// There is no leader: any process may call this at any time, and tasks already running elsewhere are skipped.
    /// `force` also runs tasks that are not due, except `.owner` and `.schedule`. If a task fails, throws `.refused`
    /// after the other tasks; the views `larder.maintenance` and `larder.schedule` show its error. Never waits for an
    /// unreachable database. A statement takes at most 5 s, for `.owner` 10 s, for `.schedule` 60 s.
    @discardableResult
    public func maintain(_ kind: MaintenanceKind, force: Bool = false) async throws(QueueError) -> Int {
        try await run(kind, force: force).moved
    }

    /// As `maintain`; also returns whether jobs became ready.
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

    /// Runs urgent, then routine tasks, and returns the most rows moved by one of them.
    @discardableResult
    public func maintain(force: Bool = false) async throws(QueueError) -> Int {
        let urgent: Result<Int, QueueError>
        do { urgent = .success(try await maintain(.urgent, force: force)) } catch { urgent = .failure(error) }
        let routine = try await maintain(.routine, force: force)
        return max(try urgent.get(), routine)
    }

    /// Returns the number of tables vacuumed or dropped.
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
                // Blocked by a long reader: a later call continues, and `larder.health` reports it.
                guard error.code == .timeout else { throw error }
            }
        }
        return completed
    }
}
