import CommandLine
import EmbeddedPostgres
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

    /// For readers. 'db url' and JSON have the whole URL, so that variables such as PGHOSTADDR change nothing.
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
}
