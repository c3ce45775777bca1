internal import Concurrency

/// A private Postgres cluster.
///
/// Runs the system's server binaries, listens only on a Unix socket, and keeps running between commands. Only its owner
/// and root can connect, by directory permissions and peer authentication. Root's server runs as the user `postgres`;
/// if that user cannot enter the home, the cluster is under `/var/lib/larder/clusters`. Never changes permissions of
/// existing directories.
package struct EmbeddedCluster: Sendable {
    package struct Configuration: Sendable {
        /// The cluster is in `postgres` in this directory, which is created if missing. No default.
        package var home: String
        /// Directories, separated by colons, for `initdb`, `pg_ctl` and `postgres` if no Debian package has them.
        /// `/usr/local/pgsql/bin:/usr/local/bin:/usr/bin` by default.
        package var searchPath = "/usr/local/pgsql/bin:/usr/local/bin:/usr/bin"
        /// Debian's server directory, with one directory per major version. `/usr/lib/postgresql` by default.
        package var packaged = "/usr/lib/postgresql"
        /// The directory for root's clusters that cannot be in their home. `/var/lib/larder/clusters` by default.
        package var clusters = "/var/lib/larder/clusters"
        /// For tests: no durability, and open to every role. False by default.
        package var disposable = false

        /// The defaults.
        package init(home: String) { self.home = home }
    }

    private let site: ClusterSite
    private let pool = ThreadPool(name: "larder-cluster", threads: 1)

    /// With the default configuration.
    package init(home: String) { self.init(Configuration(home: home)) }

    /// Creates and starts nothing.
    package init(_ configuration: Configuration) { site = ClusterSite(configuration) }

    /// Creates the cluster and the database `larder` and starts the server if necessary; returns the URL.
    ///
    /// Costs one connection if the server is running. Concurrent commands wait for the one that does the work, at most
    /// five minutes. A killed command's incomplete work is repeated.
    ///
    /// - Parameter willCreate: called with the directory before the cluster is created, which takes seconds.
    package func start(
        willCreate: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws(ClusterError) -> String {
        try await located { (place) throws(ClusterError) in
            try place.start(willCreate: willCreate)
            return place.url
        }
    }

    /// Restarts the server if it was killed. A stopped server stays stopped.
    ///
    /// - Returns: whether this call started it.
    @discardableResult
    package func restartIfKilled() async throws(ClusterError) -> Bool {
        try await located { (place) throws(ClusterError) in try place.restartIfKilled() }
    }

    /// Stops a running server and ends its sessions.
    package func stop() async throws(ClusterError) {
        try await located { (place) throws(ClusterError) in try place.stop() }
    }

    /// Upgrades the data directory to the newest installed major version of Postgres and starts the server.
    ///
    /// The server is stopped meanwhile, and the disk needs room for a copy of the data directory, which is kept. The
    /// next start repeats or finishes an interrupted upgrade.
    ///
    /// - Returns: nil if the data directory has the newest installed version.
    package func upgrade() async throws(ClusterError) -> ClusterUpgrade? {
        try await located { (place) throws(ClusterError) in try place.upgrade() }
    }

    /// Creates and starts nothing.
    package func status() async throws(ClusterError) -> ClusterStatus {
        try await located { (place) throws(ClusterError) in try place.status() }
    }

    /// The directory of the server's programs, such as `pgbench`.
    package func programs() async throws(ClusterError) -> String {
        try await located { (place) throws(ClusterError) in try place.findBinaries().directory }
    }

    /// The URL, whether or not the server is running: `postgresql:///larder?host=…&port=5432&user=larder&…`.
    package func url() async throws(ClusterError) -> String { try await located { $0.url } }

    private func located<Value: Sendable>(
        _ body: @escaping @Sendable (ClusterPlace) throws(ClusterError) -> Value
    ) async throws(ClusterError) -> Value {
        try await pool.run { [site] () throws(ClusterError) in try body(try site.locate()) }
    }
}
