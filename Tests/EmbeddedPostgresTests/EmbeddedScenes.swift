import EmbeddedPostgres
import Foundation
import Glibc
import JobQueue
import TestSupport

/// What processes of the embedded cluster's tests do.
enum EmbeddedScenes {
    struct CannotBecome: Error { let name: String }

    /// Starts a cluster and dies by SIGKILL as soon as `happened`, which the start brings about.
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

    /// Changes this process' user for good.
    static func become(_ name: String) throws {
        guard let account = ServerAccount.named(name), setgroups(0, nil) == 0, setgid(account.groupID) == 0,
            setuid(account.userID) == 0
        else { throw CannotBecome(name: name) }
    }
}
