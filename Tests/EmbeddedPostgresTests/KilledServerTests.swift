import EmbeddedPostgres
import Foundation
import Glibc
import JobQueue
import TestSupport
import Testing

/// An embedded server that was killed and left the file of its process id.
@Suite(.timeLimit(.minutes(5)))
struct KilledServerTests {
    private let home: ClusterHome
    private let cluster: EmbeddedCluster

    init() throws {
        home = try ClusterHome()
        cluster = EmbeddedCluster(home.configuration("home", disposable: true))
    }

    /// Starts a server, kills it and waits until no process of it is left. Returns the files with its process id.
    private func killServer() async throws -> [String] {
        _ = try await cluster.start()
        let status = try await cluster.status()
        guard case .running(let server) = status.state else { throw CancellationError() }
        #expect(kill(server, SIGKILL) == 0)
        let data = status.directory + "/data"
        #expect(await reached { Self.processes(in: data).isEmpty })
        return [data + "/postmaster.pid", status.socketDirectory + "/.s.PGSQL.5432.lock"]
    }

    /// The processes whose working directory is `directory`; zombies have none.
    private static func processes(in directory: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/cwd")) == directory
        }
    }

    /// Writes the id of another process into the files.
    private func put(_ process: Int32, into paths: [String]) throws {
        for path in paths {
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let rest = text.drop { $0 != "\n" }
            try "\(process)\(rest)".write(toFile: path, atomically: false, encoding: .utf8)
        }
    }

    /// A program of the server's user that is no server.
    private func stranger() throws -> RunningCommand {
        let become = geteuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
        return try RunningCommand(
            "env", become + ["sleep", "1000"], environment: ["PATH": "/usr/bin:/bin"], input: [])
    }

    @Test func `a process id that another program has now prevents no start, and a stop does not signal that program`()
        async throws
    {
        let files = try await killServer()
        let stranger = try stranger()
        // It has changed to the server's user.
        let command = "/proc/\(stranger.processID)/comm"
        #expect(await reached { (try? String(contentsOfFile: command, encoding: .utf8)) == "sleep\n" })
        try put(stranger.processID, into: files)
        try await cluster.stop()
        #expect(kill(stranger.processID, 0) == 0)
        #expect(!FileManager.default.fileExists(atPath: files[0]))

        try put(stranger.processID, into: try await killServer())
        let url = try await cluster.start()
        #expect(try AdminSession(url).execute("SELECT 1") == "1")
        stranger.signal(SIGKILL)
        #expect(await stranger.outcome().signal == SIGKILL)
    }

    @Test func `a killed server is started again on request, and a stopped one is not`() async throws {
        #expect(try await !cluster.restartIfKilled())
        _ = try await killServer()
        #expect(try await cluster.restartIfKilled())
        #expect(try AdminSession(try await cluster.url()).execute("SELECT 1") == "1")
        #expect(try await !cluster.restartIfKilled(), "it is running")
        try await cluster.stop()
        #expect(try await !cluster.restartIfKilled())
        #expect(try await cluster.status().state == .stopped)
    }
}
