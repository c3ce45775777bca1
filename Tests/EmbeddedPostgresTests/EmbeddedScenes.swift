import EmbeddedPostgres
import Foundation
import Glibc
import JobQueue

/// What processes of the embedded cluster's tests do.
enum EmbeddedScenes {
    struct CannotBecome: Error { let name: String }

    /// Starts a cluster and dies by SIGKILL as soon as `happened`, which the start brings about.
    static func startAndDie(
        _ home: String, _ clusters: String, when happened: @escaping @Sendable (_ directory: String) -> Bool
    ) async throws {
        Thread.detachNewThread {
            while !happened(home + "/postgres") { usleep(1000) }
            kill(getpid(), SIGKILL)
        }
        var configuration = EmbeddedCluster.Configuration(home: home)
        configuration.clusters = clusters
        _ = try await EmbeddedCluster(configuration).start()
        // It was there before the start returned; the watcher is about to see it.
        while true { try await Task.sleep(for: .seconds(1)) }
    }

    /// Changes this process' user for good.
    static func become(_ name: String) throws {
        guard let account = ServerAccount.named(name), setgroups(0, nil) == 0, setgid(account.groupID) == 0,
            setuid(account.userID) == 0
        else { throw CannotBecome(name: name) }
    }
}
