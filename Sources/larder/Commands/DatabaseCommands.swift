import EmbeddedPostgres
import JobQueue

extension Command {
    /// Starts the embedded database and migrates it, so that whoever is given its URL finds the schema.
    private static func started(_ arguments: Arguments) async throws -> String {
        let url = try await Settings(arguments).cluster.start()
        do throws(QueueError) {
            try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate()
        } catch {
            // A newer program's database is there, too.
            guard error.code == .newerSchema else { throw error }
        }
        return url
    }

    static let databaseStart = Command(
        words: ["db", "start"], operands: "",
        summary: "Start the embedded database, creating it when there is none",
        discussion: """
            Every command that needs a database starts it by itself, where none is given by --database,
            LARDER_DATABASE_URL or DATABASE_URL. It lies in LARDER_HOME: ~/.local/share/larder, for root /var/lib/larder,
            unless that variable says otherwise.
            """,
        options: []
    ) { arguments in
        try show(arguments, "url", try await started(arguments))
        return .done
    }

    static let databaseStop = Command(
        words: ["db", "stop"], operands: "",
        summary: "Stop the embedded database",
        options: []
    ) { arguments in
        try await Settings(arguments).cluster.stop()
        try show(arguments, "state", "stopped")
        return .done
    }

    static let databaseURL = Command(
        words: ["db", "url"], operands: "",
        summary: "Print the embedded database's URL, for psql and other clients; starts it when it is stopped",
        options: []
    ) { arguments in
        try show(arguments, "url", try await started(arguments))
        return .done
    }

    static let databaseStatus = Command(
        words: ["db", "status"], operands: "",
        summary: "Tell whether the embedded database runs, and where it lies",
        options: []
    ) { arguments in
        struct Line: Encodable {
            let state: String
            let pid: Int32?
            let directory: String
            let socketDirectory: String
            let serverVersion: String?
            let moved: String?
        }
        let status = try await Settings(arguments).cluster.status()
        let state: (String, Int32?)
        switch status.state {
        case .notCreated: state = ("not created", nil)
        case .stopped: state = ("stopped", nil)
        case .running(let process): state = ("running", process)
        }
        if arguments.flag("json") {
            try Console.json(
                Line(
                    state: state.0, pid: state.1, directory: status.directory,
                    socketDirectory: status.socketDirectory, serverVersion: status.serverVersion,
                    moved: status.moved))
        } else {
            Console.line("state: \(state.0)" + (state.1.map { ", process \($0)" } ?? ""))
            Console.line("directory: \(status.directory)")
            Console.line("socket directory: \(status.socketDirectory)")
            if let version = status.serverVersion { Console.line("server: PostgreSQL \(version)") }
            if let moved = status.moved { Console.line("moved: \(moved)") }
        }
        return .done
    }

    private static func show(_ arguments: Arguments, _ name: String, _ value: String) throws {
        if arguments.flag("json") { try Console.json([name: value]) } else { Console.line(value) }
    }
}
