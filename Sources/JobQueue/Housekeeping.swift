/// One thing that must be a statement of its own, and that only the owner of the tables may do.
///
/// The database names kind and table; the statement is composed here, from names this program knows.
enum Housekeeping: Equatable {
    case vacuum(table: String)
    case detach(partition: String, parent: String)
    /// Ends a detach that was broken off.
    case finalize(partition: String, parent: String)
    case drop(partition: String)

    private static let hotTables: Set = [
        "ready", "running", "scheduled", "suspended", "batch_delta", "batch_detail_delta",
    ]
    private static let parents = ["job_history", "item_history", "job_attempt"]

    /// Nil for what this program does not know.
    init?(kind: String, name: String) {
        if kind == "vacuum" {
            guard Self.hotTables.contains(name) else { return nil }
            self = .vacuum(table: name)
            return
        }
        guard let parent = Self.parents.first(where: { name.hasPrefix($0 + "_") }) else { return nil }
        let day = name.utf8.dropFirst(parent.utf8.count + 1)
        guard day.count == 8, day.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
        switch kind {
        case "detach": self = .detach(partition: name, parent: parent)
        case "finalize": self = .finalize(partition: name, parent: parent)
        case "drop": self = .drop(partition: name)
        default: return nil
        }
    }

    /// What to run, one after the other.
    var statements: [String] {
        switch self {
        case .vacuum(let table): ["VACUUM (SKIP_LOCKED, TRUNCATE off) larder_data.\(table)"]
        case .detach(let partition, let parent):
            [
                "ALTER TABLE larder_data.\(parent) DETACH PARTITION larder_data.\(partition) CONCURRENTLY",
                "DROP TABLE larder_data.\(partition)",
            ]
        case .finalize(let partition, let parent):
            [
                "ALTER TABLE larder_data.\(parent) DETACH PARTITION larder_data.\(partition) FINALIZE",
                "DROP TABLE larder_data.\(partition)",
            ]
        case .drop(let partition): ["DROP TABLE larder_data.\(partition)"]
        }
    }
}

extension PostgresJobQueue {
    /// Vacuums the tables that rows pass through, and detaches and drops days of history that are over, as far as they
    /// are due and nobody else does it. Due every 30 s or so; returns how many things were done.
    ///
    /// Does nothing when this login may not act as the tables' owner: autovacuum and `maintain()` do the work then. Runs
    /// beside all other calls on a connection of its own; a statement takes at most 10 s, and what was broken off is
    /// done by a later call.
    @discardableResult
    public func runHousekeeping() async throws(QueueError) -> Int {
        // Asked of the catalogue: a login without the right may not even name the schema.
        let mayActAsOwner = try await ask(
            """
            SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_catalog.pg_class c
            JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'larder_data' AND c.relname = 'housekeeping'
            """, patience: .zero, on: housekeeping
        ) { rows throws(QueueError) in rows.count > 0 && rows.flag(0, 0) == true }
        guard mayActAsOwner else { return 0 }
        let due = try await ask(
            "SELECT kind, name FROM larder_data.housekeeping_due()", repeating: .onlyUndone, patience: .zero,
            on: housekeeping
        ) { rows throws(QueueError) in
            (0..<rows.count).compactMap { Housekeeping(kind: rows.text($0, 0) ?? "", name: rows.text($0, 1) ?? "") }
        }
        var done = 0
        for task in due {
            do throws(QueueError) {
                for statement in task.statements {
                    try await ask(statement, repeating: .onlyUndone, patience: .zero, on: housekeeping) {
                        _ throws(QueueError) in
                    }
                }
                done += 1
            } catch {
                // Somebody reads the table for long: the next round goes on, and the view `larder.health` tells.
                guard error.code == .timeout else { throw error }
            }
        }
        return done
    }
}
