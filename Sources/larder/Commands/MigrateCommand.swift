import JobQueue

extension Command {
    static let migrate = Command(
        words: ["migrate"], operands: "",
        summary: "Apply the migrations that the database lacks",
        discussion: """
            Takes a lock and applies each migration in its own transaction, those of an empty database in one. A migration that does not get its locks within
            2 s is rolled back, so that workers do not wait behind it, and tried again for up to 5 minutes. A database
            newer than this program is refused; --status shows its migrations. Of several databases each is migrated, also after an error in one.
            """,
        examples: ["larder migrate", "larder migrate --status"],
        options: [
            Option("status", "print the applied and the pending migrations and change nothing"),
            Option("dry-run", "print the SQL of the pending migrations and change nothing"), Settings.databaseOption,
        ]
    ) { arguments in
        var calls = try DatabaseCalls(arguments)
        _ = try await calls.each { settings in
            let migrator = Migrator(PostgresJobQueue.Configuration(databaseURL: try await settings.database()))
            try await apply(migrator, arguments, settings.label)
        }
        try calls.end()
        return .done
    }

    /// Migrates one database, or prints what would be done.
    ///
    /// - Parameter label: how results name it; nil unless it is one of several.
    private static func apply(_ migrator: Migrator, _ arguments: Arguments, _ label: String?) async throws {
        func show(_ line: JSONObject, _ text: String) throws { try Console.show(line.of(label), arguments, text) }
        let column = label.map { "\($0)\t" } ?? ""
        if arguments.flag("dry-run") {
            for step in try await migrator.pending() {
                // A comment, because the output is SQL.
                let title = "-- migration \(step.name)" + (label.map { " of \($0)" } ?? "")
                try show(["number": step.number, "name": step.name, "sql": step.sql], "\(title)\n\(step.sql)")
            }
            return
        }
        let applied =
            arguments.flag("status")
            ? nil : Set(try await migrator.migrate { Console.note("\($0.message); trying again") }.map(\.number))
        if applied?.isEmpty == true, !arguments.flag("json") { Console.line(column + "nothing to do") }
        for step in try await migrator.status() where applied?.contains(step.number) ?? true {
            try show(
                ["number": step.number, "name": step.name, "appliedAt": step.appliedAt],
                "\(column)\(step.name): \(step.appliedAt.map { "applied \($0)" } ?? "pending")"
                    + (step.isNewer ? " by a newer program" : ""))
        }
    }
}
