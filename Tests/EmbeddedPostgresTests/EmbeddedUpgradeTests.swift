import EmbeddedPostgres
import Foundation
import Glibc
import JobQueue
import TestSupport
import Testing

/// Upgrades between Debian's server and the newer one that `scripts/newer-postgres` provides.
@Suite(
    .enabled(if: Tier.isNightly, "make nightly"),
    .enabled(if: NewerServer.isInstalled, "scripts/newer-postgres has installed no newer server"),
    .timeLimit(.minutes(10)))
struct EmbeddedUpgradeTests {
    private let home: ClusterHome
    /// Of a cluster that sees Debian's server only.
    private var before: EmbeddedCluster.Configuration { home.configuration("home") }
    /// Of the same cluster, which sees both servers.
    private var after: EmbeddedCluster.Configuration {
        var configuration = before
        configuration.packaged = home.directory.file("servers")
        return configuration
    }

    init() async throws {
        home = try ClusterHome()
        try await NewerServer.place(besideDebianIn: home.directory.file("servers"))
    }

    @Test func `an upgrade keeps every row and the user's settings and the old data`() async throws {
        var url = try await EmbeddedCluster(before).start()
        try AdminSession(url).execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS value")
        let directory = try await EmbeddedCluster(before).status().directory
        let settings = directory + "/data/postgresql.conf"
        try (String(contentsOfFile: settings, encoding: .utf8) + "work_mem = 5MB\n")
            .write(toFile: settings, atomically: false, encoding: .utf8)

        let old = try #require(
            try await EmbeddedCluster(before).status().serverVersion.flatMap(ServerBinaries.majorVersion))
        let upgrade = try #require(try await EmbeddedCluster(after).upgrade())
        #expect(upgrade == ClusterUpgrade(from: old, to: NewerServer.major, oldData: "\(directory)/data.\(old)"))

        url = try await EmbeddedCluster(after).url()
        let session = try AdminSession(url)
        #expect(try session.execute("SELECT sum(value) FROM kept") == "500500")
        #expect(try session.execute("SHOW work_mem") == "5MB")
        #expect(try session.execute("SHOW server_version_num")?.hasPrefix("\(NewerServer.major)") == true)
        #expect(FileManager.default.fileExists(atPath: upgrade.oldData + "/PG_VERSION"))
        #expect(try await EmbeddedCluster(after).upgrade() == nil, "a second one has nothing to do")
    }

    @Test(arguments: [false, true])
    func `the next start finishes an upgrade that was killed between the renames`(isOldMoved: Bool) async throws {
        _ = try await EmbeddedCluster(before).start()
        let directory = try await EmbeddedCluster(before).status().directory
        let upgrade = try #require(try await EmbeddedCluster(after).upgrade())
        try AdminSession(try await EmbeddedCluster(after).url()).execute("CREATE TABLE kept ()")
        try await EmbeddedCluster(after).stop()
        // As a kill would have left them.
        try FileManager.default.moveItem(atPath: directory + "/data", toPath: directory + "/data.upgraded")
        if !isOldMoved { try FileManager.default.moveItem(atPath: upgrade.oldData, toPath: directory + "/data") }

        let url = try await EmbeddedCluster(after).start()
        #expect(try AdminSession(url).execute("SELECT count(*) FROM kept") == "0")
        #expect(FileManager.default.fileExists(atPath: upgrade.oldData))
    }

    @Test func `a conversion that fails leaves the old data in use`() async throws {
        let url = try await EmbeddedCluster(before).start()
        // pg_upgrade refuses a database that does not accept connections.
        try AdminSession(url).execute("CREATE DATABASE closed ALLOW_CONNECTIONS false")
        let error = await #expect(throws: ClusterError.self) { try await EmbeddedCluster(after).upgrade() }
        guard case .commandFailed(.upgrade, let lines) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!lines.isEmpty)
        #expect(try await EmbeddedCluster(after).start() == url)
        let version = try AdminSession(url).execute("SHOW server_version_num") ?? ""
        #expect(!version.hasPrefix("\(NewerServer.major)"))
    }

    @Test func `nothing is upgraded where no cluster exists`() async throws {
        let error = await #expect(throws: ClusterError.self) { try await EmbeddedCluster(after).upgrade() }
        guard case .notCreated = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}

/// The server of `scripts/newer-postgres`.
private enum NewerServer {
    static let major = 18
    private static let directory =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path + "/.build/postgres-\(major)/\(major)"

    static var isInstalled: Bool { access(directory + "/bin/postgres", X_OK) == 0 }

    /// Makes a directory like Debian's `/usr/lib/postgresql` that has the newer version as well.
    static func place(besideDebianIn servers: String) async throws {
        let files = FileManager.default
        try files.createDirectory(atPath: servers, withIntermediateDirectories: true)
        for version in try files.contentsOfDirectory(atPath: "/usr/lib/postgresql") {
            try files.createSymbolicLink(
                atPath: "\(servers)/\(version)", withDestinationPath: "/usr/lib/postgresql/\(version)")
        }
        // A copy: the server's user may not be able to enter the directory of this package. By a program: what another
        // test starts while this process writes a program has it open, too, and then it cannot be run (ETXTBSY).
        try await SystemTool.run(["cp", "--archive", directory, "\(servers)/\(major)"])
    }
}
