import JobQueue

extension Command {
    static let migrate = Command(
        words: ["migrate"], operands: "",
        summary: "Bring the database to this program's schema",
        discussion: "Runs under a lock, each migration in its own transaction; refuses a database newer than itself.",
        options: [
            Option("status", "tell what is applied and what is pending, and change nothing"), Settings.databaseOption,
        ]
    ) { arguments in
        struct Line: Encodable {
            let number: Int
            let name: String
            let applied: String?
        }
        let url = try await Settings(arguments).startedDatabase()
        let migrator = Migrator(PostgresJobQueue.Configuration(databaseURL: url))
        let onlyStatus = arguments.flag("status")
        let steps = onlyStatus ? try await migrator.status() : try await migrator.migrate()
        for step in steps {
            if arguments.flag("json") {
                try Console.json(Line(number: step.number, name: step.name, applied: step.appliedAt))
            } else {
                Console.line("\(step.name): \(step.appliedAt.map { "applied \($0)" } ?? "pending")")
            }
        }
        if !onlyStatus && steps.isEmpty && !arguments.flag("json") { Console.line("nothing to do") }
        return .done
    }
}
