import EmbeddedPostgres
import Foundation
import Glibc
import JobQueue
import TestSupport

/// Code that tests of the embedded cluster run in their own processes.
enum EmbeddedScenes {
    struct CannotBecome: Error { let name: String }

    /// Starts a cluster and kills the process as soon as `happened` is true during the start.
    static func startAndDie(
        _ home: String, _ clusters: String, when happened: @escaping @Sendable (_ directory: String) -> Bool
    ) async throws {
        var configuration = EmbeddedCluster.Configuration(home: home)
        configuration.clusters = clusters
        let cluster = EmbeddedCluster(configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { if await reached({ happened(home + "/postgres") }) { kill(getpid(), SIGKILL) } }
            group.addTask { _ = try await cluster.start() }
            try await group.waitForAll()
        }
    }

    /// Changes the user of this process.
    static func become(_ name: String) throws {
        guard let account = ServerAccount.named(name), setgroups(0, nil) == 0, setgid(account.groupID) == 0,
            setuid(account.userID) == 0
        else { throw CannotBecome(name: name) }
    }
}
