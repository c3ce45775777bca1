import CommandLine
import EmbeddedPostgres
import FoundationEssentials
import JobQueue
import Terminal

extension Command {
    static let databaseStart = Command(
        words: ["db", "start"], operands: "",
        summary: "Start the embedded database; create it when there is none",
        discussion: """
            'run', 'enqueue' and 'work' also start it unless --database, LARDER_DATABASE_URL or DATABASE_URL names another
            database; no other command does. Its directory is LARDER_HOME, by default ~/.local/share/larder, for root /var/lib/larder.
            A database stays with the version of Postgres that created it until --upgrade. Both versions must be installed.
            The server is stopped meanwhile and its sessions end. The old data directory is kept, so the disk needs room
            for a copy; delete it once the new server runs well.
            """,
        examples: ["larder db start", "larder db start --upgrade"],
        options: [Option("upgrade", "upgrade it to the newest installed major version of Postgres, and start it")]
    ) { arguments in
        if arguments.isGiven("upgrade") { return try await upgrade(arguments) }
        let url = try await Settings(arguments).startEmbedded()
        // Clients of the URL find the schema.
        do throws(QueueError) {
            try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate()
        } catch {
            // A newer program migrated the database; other clients can use it.
            guard error.code == .newerSchema else { throw error }
        }
        try Console.show(["url": url], arguments, withoutEmptyParameters(url))
        return .done
    }

    /// For display. 'db url' and JSON print the whole URL, so that variables such as PGHOSTADDR change nothing.
    private static func withoutEmptyParameters(_ url: String) -> String {
        let parts = url.split(separator: "?", maxSplits: 1)
        guard parts.count == 2 else { return url }
        return parts[0] + "?" + parts[1].split(separator: "&").filter { !$0.hasSuffix("=") }.joined(separator: "&")
    }

    static let databaseStop = Command(
        words: ["db", "stop"], operands: "",
        summary: "Stop the embedded database",
        examples: ["larder db stop"],
        options: []
    ) { arguments in
        try await Settings(arguments).cluster.stop()
        try Console.show(["state": "stopped"], arguments, "stopped")
        return .done
    }

    private static func upgrade(_ arguments: Arguments) async throws -> ExitCode {
        guard let upgrade = try await Settings(arguments).cluster.upgrade() else {
            let line: JSONObject = ["upgraded": false, "from": nil, "to": nil, "oldData": nil]
            try Console.show(line, arguments, "the database has the newest installed version")
            return .done
        }
        let line: JSONObject = [
            "upgraded": true, "from": upgrade.from, "to": upgrade.to, "oldData": upgrade.oldData,
        ]
        try Console.show(
            line, arguments,
            "upgraded from PostgreSQL \(upgrade.from) to \(upgrade.to); the old data is in \(upgrade.oldData)")
        return .done
    }

    static let databaseURL = Command(
        words: ["db", "url"], operands: "",
        summary: "Print the URL of the running embedded database for psql and other clients",
        examples: ["psql \"$(larder db url)\""],
        options: []
    ) { arguments in
        let url = try await Settings(arguments).embeddedURL()
        try Console.show(["url": url], arguments, url)
        return .done
    }

    static let databaseStatus = Command(
        words: ["db", "status"], operands: "",
        summary: "Print whether the embedded database runs, and its directories",
        examples: ["larder db status --json"],
        options: []
    ) { arguments in
        let status = try await Settings(arguments).cluster.status()
        let (state, pid): (String, Int32?) =
            switch status.state {
            case .notCreated: ("not created", nil)
            case .stopped: ("stopped", nil)
            case .running(let process): ("running", process)
            }
        let line: JSONObject = [
            "state": state, "pid": pid, "directory": status.directory, "socketDirectory": status.socketDirectory,
            "serverVersion": status.serverVersion, "moved": status.moved,
        ]
        var lines = [
            "state: \(state)" + (pid.map { ", process \($0)" } ?? ""), "directory: \(status.directory)",
            "socket directory: \(status.socketDirectory)",
        ]
        if let version = status.serverVersion { lines.append("server: PostgreSQL \(version)") }
        if let moved = status.moved { lines.append("moved: \(moved)") }
        try Console.show(line, arguments, lines.joined(separator: "\n"))
        return .done
    }

    static let check = Command(
        words: ["check"], operands: "",
        summary: "Check the queue's invariants; prints nothing when all hold",
        discussion: """
            Prints each violated invariant with its job or batch, at most 1,000 lines; the exit code is then 1. Reads all
            live jobs and all history in one snapshot, about a second per 200,000 records.
            """,
        examples: ["larder check"],
        options: [Settings.databaseOption]
    ) { arguments in
        let violations = try await Settings(arguments).openQueue().reports.check()
        for found in violations {
            let line: JSONObject = ["invariant": found.invariant, "subject": found.subject, "detail": found.detail]
            try Console.show(
                line, arguments, "\(found.invariant): \(found.subject.map { "\($0): " } ?? "")\(found.detail)")
        }
        return violations.isEmpty ? .done : .failed
    }

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

/// The database roles that a command needs, for errors of logins that lack them.
enum RequiredRole {
    /// Empty if no role allows the command, such as `migrate`, which needs the schema's owner.
    static func names(for command: Command) -> [String] {
        switch command.name {
        case "run": ["larder_producer", "larder_worker"]
        case "enqueue", "pipeline set": ["larder_producer"]
        case "work": ["larder_worker"]
        case "status", "report", "check", "doctor", "serve", "path": ["larder_reader"]
        case "migrate": []
        default:
            switch (command.words[0], command.words.last) {
            case ("db", _), ("bench", _), ("chaos", _): []
            case ("cache", _), (_, "list"), (_, "show"): ["larder_reader"]
            default: ["larder_admin"]
            }
        }
    }

    /// The remedy for an error of `command`; nil unless the database denied a permission that a role has.
    static func remedy(_ error: any Error, of command: Command, login: String?) -> String? {
        let names = names(for: command).joined(separator: ", ")
        guard let error = error as? QueueError, error.isDenied, !names.isEmpty else { return nil }
        let login = login.map { "\"\($0.replacing("\"", with: "\"\""))\"" } ?? "LOGIN"
        return "'larder \(command.name)' needs \(names): GRANT \(names) TO \(login)"
    }

    /// The user in a database URL.
    static func login(_ url: String?) -> String? {
        let parts = url.flatMap { URLComponents(string: $0) }
        return [parts?.user, parts?.queryItems?.last { $0.name == "user" }?.value].compactMap(\.self).first {
            !$0.isEmpty
        }
    }
}
