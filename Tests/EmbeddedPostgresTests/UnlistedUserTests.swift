import EmbeddedPostgres
import Foundation
import Glibc
import JobQueue
import TestSupport
import Testing

/// A user id without an entry in the password database, as a container may give.
@Suite(.enabled(if: geteuid() == 0), .timeLimit(.minutes(5)))
struct UnlistedUserTests {
    private static let userID: UInt32 = 1_000_670_000

    @Test func `a user id that the password database does not list has a cluster, where root gets in`() async throws {
        #expect(ServerAccount.withID(Self.userID) == nil)
        let home = try ClusterHome()
        let configuration = home.configuration("home")
        let path = configuration.home
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        #expect(chown(path, Self.userID, 0) == 0)
        await #expect(processExitsWith: .success) { [path = path as String] in
            // The group of such a container is root's.
            guard setgroups(0, nil) == 0, setgid(0) == 0, setuid(Self.userID) == 0 else { exit(3) }
            let cluster = EmbeddedCluster(home: path)
            for _ in 0..<2 {
                let answer = try AdminSession(try await cluster.start()).execute("SELECT current_user")
                #expect(answer == "larder")
                try await cluster.stop()
            }
            _ = try await cluster.start()
        }
        let cluster = EmbeddedCluster(configuration)
        #expect(try AdminSession(try await cluster.url()).execute("SELECT current_user") == "larder")
        try await cluster.stop()
        #expect(try AdminSession(try await cluster.start()).execute("SELECT 1") == "1", "root starts it as that user")
        try await cluster.stop()
    }
}
