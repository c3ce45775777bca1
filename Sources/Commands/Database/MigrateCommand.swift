import CommandLine
import JobQueue
import Terminal

extension Command {
    static let migrate = Command(
        words: ["migrate"], operands: "",
        summary: "Apply the migrations that the database lacks",
        discussion: """
            Takes a lock and applies each migration in its own transaction, or all to an empty database in one. A migration that does not get its locks within
            2 s is rolled back, so that workers do not wait behind it, and tried again for up to 5 minutes. A database
            newer than this program is refused; --status shows its migrations.
            """,
        examples: ["larder migrate", "larder migrate --status"],
        options: [
            Option("status", "print the applied and the pending migrations and change nothing"),
            Option("dry-run", "print the SQL of the pending migrations and change nothing"), Settings.databaseOption,
        ]
    ) { arguments in
        let url = try await Settings(arguments).database()
        let migrator = Migrator(PostgresJobQueue.Configuration(databaseURL: url))
        if arguments.flag("dry-run") {
            for step in try await migrator.pending() {
                // A comment, because the output is SQL.
                try Console.show(
                    ["number": step.number, "name": step.name, "sql": step.sql], arguments,
                    "-- migration \(step.name)\n\(step.sql)")
            }
            return .done
        }
        let applied =
            arguments.flag("status")
            ? nil : Set(try await migrator.migrate { Console.note("\($0.message); trying again") }.map(\.number))
        if applied?.isEmpty == true, !arguments.flag("json") { Console.line("nothing to do") }
        for step in try await migrator.status() where applied?.contains(step.number) ?? true {
            try Console.show(
                ["number": step.number, "name": step.name, "appliedAt": step.appliedAt], arguments,
                "\(step.name): \(step.appliedAt.map { "applied \($0)" } ?? "pending")"
                    + (step.isNewer ? " by a newer program" : ""))
        }
        return .done
    }
}
