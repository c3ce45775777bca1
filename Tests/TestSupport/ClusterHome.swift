package import EmbeddedPostgres
private import Foundation

/// A home for embedded clusters of one test. Servers in it end, and it goes, with its last reference or the process.
public final class ClusterHome: Sendable {
    /// A directory that every user can pass through.
    public let directory: TemporaryDirectory
    private let disposal: Disposal

    /// Other servers than Debian's, from LARDER_TEST_SERVERS: a directory with `<major>/bin`.
    static let otherServers: String? = {
        let servers = ProcessInfo.processInfo.environment["LARDER_TEST_SERVERS"] ?? ""
        return servers.isEmpty ? nil : servers
    }()

    /// An empty one.
    ///
    /// - Parameter inMemory: in a file system in memory where there is one.
    public init(inMemory: Bool = false) throws {
        directory = try TemporaryDirectory(open: true, inMemory: inMemory)
        disposal = try Disposal(directory: directory.path)
    }

    // Before the directory goes: its files lead to the servers.
    deinit { disposal.clearAway() }

    /// The configuration of a cluster whose home is `name` inside, and which leaves no trace outside.
    ///
    /// - Parameter disposable: quick, open to every role, and lost when the machine crashes.
    package func configuration(_ name: String, disposable: Bool = false) -> EmbeddedCluster.Configuration {
        var configuration = EmbeddedCluster.Configuration(home: directory.file(name))
        configuration.clusters = directory.file("clusters")
        configuration.disposable = disposable
        if let servers = Self.otherServers { configuration.packaged = servers }
        return configuration
    }
}
