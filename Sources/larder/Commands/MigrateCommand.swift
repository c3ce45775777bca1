import JobQueue

extension Command {
    static let migrate = Command(
        words: ["migrate"], operands: "",
        summary: "Bring the database to this program's schema",
        discussion: "Runs under a lock, each migration in its own transaction; refuses a database newer than itself.",
        options: [
            Option("status", "tell what is applied and what is pending, and change nothing"),
            Option("dry-run", "print the SQL of what is pending, and change nothing"), Settings.databaseOption,
        ]
    ) { arguments in
        let url = try await Settings(arguments).startedDatabase()
        let migrator = Migrator(PostgresJobQueue.Configuration(databaseURL: url))
        if arguments.flag("dry-run") {
            for step in try await migrator.pending() { try show(step, json: arguments.flag("json")) }
            return .done
        }
        if !arguments.flag("status") {
            let applied = Set(try await migrator.migrate().map(\.number))
            if applied.isEmpty && !arguments.flag("json") { Console.line("nothing to do") }
            for step in try await migrator.status() where applied.contains(step.number) {
                try show(step, json: arguments.flag("json"))
            }
            return .done
        }
        for step in try await migrator.status() { try show(step, json: arguments.flag("json")) }
        return .done
    }

    private static func show(_ step: Migrator.Step, json: Bool) throws {
        struct Line: Encodable {
            let number: Int
            let name: String
            let applied: Nullable<String>
        }
        if json {
            try Console.json(Line(number: step.number, name: step.name, applied: Nullable(step.appliedAt)))
        } else {
            Console.line("\(step.name): \(step.appliedAt.map { "applied \($0)" } ?? "pending")")
        }
    }

    private static func show(_ step: Migrator.PendingStep, json: Bool) throws {
        struct Line: Encodable {
            let number: Int
            let name: String
            let sql: String
        }
        if json {
            try Console.json(Line(number: step.number, name: step.name, sql: step.sql))
        } else {
            Console.write("-- migration \(step.name)\n\(step.sql)\n")
        }
    }
}
