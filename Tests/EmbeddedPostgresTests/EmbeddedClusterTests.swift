import EmbeddedPostgres
import Foundation
import Glibc
import JobQueue
import TestSupport
import Testing

/// Tests with real servers. Each creates at most one cluster, which takes a second.
@Suite(.timeLimit(.minutes(5)))
struct EmbeddedClusterTests {
    private let home: ClusterHome

    init() throws { home = try ClusterHome() }

    private func pid(_ cluster: EmbeddedCluster) async throws -> Int32? {
        guard case .running(let pid) = try await cluster.status().state else { return nil }
        return pid
    }

    @Test
    func `two processes start one server, which is restarted after a kill and refuses an invalid setting`() async throws
    {
        let configuration = home.configuration("home")
        let cluster = EmbeddedCluster(configuration)
        let before = try await cluster.status()
        #expect(before.state == .notCreated)
        #expect(!FileManager.default.fileExists(atPath: configuration.home), "status creates nothing")

        // Each prints the URL. The result arrives when the pipe is closed, so the server does not hold it open.
        let (path, clusters) = (configuration.home, configuration.clusters)
        async let first = #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [path = path as String, clusters = clusters as String] in
            var configuration = EmbeddedCluster.Configuration(home: path)
            configuration.clusters = clusters
            print("url", try await EmbeddedCluster(configuration).start())
        }
        async let second = #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [path = path as String, clusters = clusters as String] in
            var configuration = EmbeddedCluster.Configuration(home: path)
            configuration.clusters = clusters
            print("url", try await EmbeddedCluster(configuration).start())
        }
        let url = try await cluster.url()
        for result in await [first, second] {
            let text = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
            #expect(text.contains("url \(url)\n"))
        }

        // Both processes have ended; the server still runs.
        let server = try #require(try await pid(cluster))
        #expect(try await cluster.status().serverVersion?.isEmpty == false)
        let session = try AdminSession(url)
        try session.execute("CREATE TABLE kept AS SELECT 1 AS value")
        let settings = try session.execute(
            """
            SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
            WHERE name IN ('fsync', 'jit', 'listen_addresses', 'max_connections', 'TimeZone')
            """)
        #expect(settings == "TimeZone=UTC fsync=on jit=off listen_addresses= max_connections=100")
        let database = try session.execute(
            "SELECT pg_encoding_to_char(encoding) || ' ' || datcollate FROM pg_database WHERE datname = 'larder'")
        #expect(database == "UTF8 C")

        // The environment does not change the meaning of the URL.
        await #expect(processExitsWith: .success) { [url = url as String] in
            let environment = [
                "PGHOSTADDR": "127.0.0.1", "PGHOST": "127.0.0.1", "PGPORT": "1", "PGUSER": "guest",
                "PGDATABASE": "none",
                "PGOPTIONS": "-c search_path=none", "PGSSLMODE": "verify-full", "PGGSSENCMODE": "require",
                "PGCHANNELBINDING": "require", "PGREQUIREPEER": "guest", "PGTARGETSESSIONATTRS": "standby",
            ]
            for (name, value) in environment { setenv(name, value, 1) }
            let kept = try AdminSession(url).execute("SELECT value FROM kept")
            let failure = await #expect(throws: QueueError.self) {
                try await PostgresJobQueue(PostgresJobQueue.Configuration(databaseURL: url)).checkReady()
            }
            guard kept == "1", failure?.code == .notMigrated else { exit(3) }
        }

        // A login as another role is refused, also for the owner.
        try session.execute("CREATE ROLE guest LOGIN")
        let asGuest = url.replacingOccurrences(of: "user=larder", with: "user=guest")
        #expect(throws: QueueError.self) { try AdminSession(asGuest).execute("SELECT 1") }

        // After a kill the file of its process id and its child processes remain.
        #expect(kill(server, SIGKILL) == 0)
        #expect(try await cluster.start() == url)
        #expect(try await pid(cluster) != server)
        let kept = try AdminSession(url).execute("SELECT value FROM kept")
        #expect(kept == "1")

        // A dropped database is created again.
        try AdminSession(url.replacingOccurrences(of: "/larder?", with: "/postgres?")).execute(
            "DROP DATABASE larder WITH (FORCE)")
        let made = try AdminSession(try await cluster.start()).execute("SELECT current_database()")
        #expect(made == "larder")

        try await cluster.stop()
        let stopped = try await cluster.status()
        #expect(stopped.state == .stopped)
        #expect(stopped.serverVersion.flatMap { Int($0) } != nil)
        try await cluster.stop()

        // The server refuses a setting of the user; the error has the server's message.
        let file = try #require(FileHandle(forWritingAtPath: "\(stopped.directory)/data/postgresql.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data("nonsense = 1\n".utf8))
        try file.close()
        let error = await #expect(throws: ClusterError.self) { try await cluster.start() }
        guard case .commandFailed(.start, let lines) = error else {
            Issue.record("not a failed start: \(String(describing: error))")
            return
        }
        #expect(lines.contains { $0.contains("nonsense") })
    }

    @Test
    func `a start succeeds after earlier starts were killed, in a home with a long and unusual path`() async throws {
        let name = "it's \"$(touch x)\", ä \(String(repeating: "long", count: 30))"
        let configuration = home.configuration(name)
        let cluster = EmbeddedCluster(configuration)
        let (path, clusters) = (configuration.home, configuration.clusters)
        let sockets = try await cluster.status().socketDirectory
        defer { try? FileManager.default.removeItem(atPath: sockets) }
        #expect(sockets.utf8.count + 14 <= 107)

        // Killed as soon as initdb writes, then as soon as the server has a process id.
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, clusters = clusters as String] in
            try await EmbeddedScenes.startAndDie(path, clusters) { directory in
                let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
                return names.contains { $0.hasPrefix("new.") }
            }
        }
        #expect(!FileManager.default.fileExists(atPath: path + "/postgres/data"))
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, clusters = clusters as String] in
            try await EmbeddedScenes.startAndDie(path, clusters) { directory in
                FileManager.default.fileExists(atPath: directory + "/data/postmaster.pid")
            }
        }
        let url = try await cluster.start()
        let version = try AdminSession(url).execute("SHOW unix_socket_directories")
        #expect(version == sockets)
        let status = try await cluster.status()
        #expect(status.moved == nil)
        #expect(status.directory == path + "/postgres")
        let left = try FileManager.default.contentsOfDirectory(atPath: status.directory)
        #expect(!left.contains { $0.hasPrefix("new.") })
        try await cluster.stop()
        #expect(try await cluster.status().state == .stopped)
    }

    @Test(.enabled(if: geteuid() == 0))
    func `root's cluster is outside a home that the server's user cannot enter`() async throws {
        let closed = home.directory.file("closed")
        try FileManager.default.createDirectory(
            atPath: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let configuration = home.configuration("closed/home", disposable: true)
        let cluster = EmbeddedCluster(configuration)
        let url = try await cluster.start()
        let answer = try AdminSession(url).execute("SELECT 1")
        #expect(answer == "1")
        let status = try await cluster.status()
        #expect(status.moved == "the server's user postgres cannot enter \(configuration.home)")
        #expect(status.directory.hasPrefix(configuration.clusters + "/"))
        let mode = try FileManager.default.attributesOfItem(atPath: closed)[.posixPermissions] as? Int
        #expect(mode == 0o700)

        // No empty cluster is created in the home when the user can enter it later.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: closed)
        #expect(try await cluster.start() == url)
        try await cluster.stop()
    }

    @Test(.enabled(if: geteuid() == 0))
    func `an ordinary user has a cluster of its own, where root gets in and others do not`() async throws {
        let nobody = try #require(ServerAccount.named("nobody"))
        let configuration = home.configuration("own", disposable: true)
        try FileManager.default.createDirectory(
            atPath: configuration.home, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        #expect(chown(configuration.home, nobody.userID, nobody.groupID) == 0)
        let path = configuration.home
        await #expect(processExitsWith: .success) { [path = path as String] in
            try EmbeddedScenes.become("nobody")
            var configuration = EmbeddedCluster.Configuration(home: path)
            configuration.disposable = true
            let cluster = EmbeddedCluster(configuration)
            let answer = try AdminSession(try await cluster.start()).execute("SELECT 1")
            #expect(answer == "1")
        }
        await #expect(processExitsWith: .success) { [path = path as String] in
            try EmbeddedScenes.become("daemon")
            let cluster = EmbeddedCluster(home: path)
            let error = await #expect(throws: ClusterError.self) { try await cluster.start() }
            guard case .foreignCluster = error else { exit(3) }
        }
        let cluster = EmbeddedCluster(configuration)
        let server = try #require(try await pid(cluster))
        let owner = try FileManager.default.attributesOfItem(atPath: "/proc/\(server)")[.ownerAccountID] as? UInt32
        #expect(owner == nobody.userID)
        try await cluster.stop()
        let answer = try AdminSession(try await cluster.start()).execute("SELECT 1")
        #expect(answer == "1")
        #expect(try await cluster.status().moved == nil)
    }

    @Test func `without server binaries no file is created, and the error names the package`() async throws {
        var configuration = home.configuration("home")
        configuration.packaged = home.directory.file("none")
        configuration.searchPath = home.directory.path
        let cluster = EmbeddedCluster(configuration)
        let searched = ["\(configuration.packaged)/*/bin", home.directory.path]
        await #expect(throws: ClusterError.serverMissing(package: "postgresql", searched: searched)) {
            try await cluster.start()
        }
        #expect(try await cluster.status().state == .notCreated)
        try await cluster.stop()
    }

    @Test func `a directory that others can enter is refused`() async throws {
        let configuration = home.configuration("home")
        let directory = configuration.home + "/postgres"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
        #expect(chmod(directory, 0o777) == 0)
        let error = await #expect(throws: ClusterError.self) { try await EmbeddedCluster(configuration).start() }
        guard case .unsafeDirectory(directory, _) = error else {
            Issue.record("not refused: \(String(describing: error))")
            return
        }
    }
}
