internal import Concurrency

/// A private Postgres cluster that a command makes and starts when it needs a database.
///
/// It listens on a Unix socket only, runs with the server binaries of the system, and stays up between commands.
/// Only its owner and root get in: by the permissions of its directory and by the kernel's word on who connects.
/// As root the server runs under the user `postgres`; where that user cannot enter the home, the cluster lies
/// elsewhere, and the status says so. The permissions of existing directories are never changed.
public struct EmbeddedCluster: Sendable {
    /// Where a cluster lies and with what it runs.
    public struct Configuration: Sendable {
        /// The directory that holds the cluster, in `postgres`; made when it is missing. No default.
        public var home: String
        /// Directories between colons in which to look for `initdb`, `pg_ctl` and `postgres` where Debian's packages
        /// are not installed. `/usr/local/pgsql/bin:/usr/local/bin:/usr/bin` by default.
        public var searchPath = "/usr/local/pgsql/bin:/usr/local/bin:/usr/bin"
        /// Where Debian's packages put servers, one directory per major version. `/usr/lib/postgresql` by default.
        package var packaged = "/usr/lib/postgresql"
        /// Where root's clusters lie that cannot lie in their home. `/var/lib/larder/clusters` by default.
        package var clusters = "/var/lib/larder/clusters"
        /// For tests: quick, open to every role, and lost when the machine crashes. False by default.
        package var disposable = false

        /// The defaults for `home`.
        public init(home: String) { self.home = home }
    }

    private let site: ClusterSite
    private let pool = ThreadPool(name: "larder-cluster", threads: 1)

    /// The cluster of `home`, with the defaults.
    public init(home: String) { self.init(Configuration(home: home)) }

    /// A cluster as configured. Nothing is made or started yet.
    public init(_ configuration: Configuration) { site = ClusterSite(configuration) }

    /// Makes what is missing (cluster, server, the database `larder`) and gives the connection URL.
    ///
    /// When the server is up this is one connection. Any number of commands may do it at once; one of them does the
    /// work and the others wait, at most five minutes. What a killed command left half done is done again.
    public func start() async throws(ClusterError) -> String {
        let site = site
        return try await pool.run { () throws(ClusterError) in
            let place = try site.locate()
            try place.start()
            return place.url
        }
    }

    /// Ends the server, breaking its sessions off; nothing happens when it is not running.
    public func stop() async throws(ClusterError) {
        let site = site
        try await pool.run { () throws(ClusterError) in try site.locate().stop() }
    }

    /// Looks, without starting or making anything.
    public func status() async throws(ClusterError) -> ClusterStatus {
        let site = site
        return try await pool.run { () throws(ClusterError) in try site.locate().status() }
    }

    /// The directory of the server's own programs, `pgbench` for instance.
    package func programs() async throws(ClusterError) -> String {
        let site = site
        return try await pool.run { () throws(ClusterError) in try site.locate().findBinaries().directory }
    }

    /// The connection URL, whether or not the server runs: `postgresql:///larder?host=…&port=5432&user=larder&…`.
    public func url() async throws(ClusterError) -> String {
        let site = site
        return try await pool.run { () throws(ClusterError) in try site.locate().url }
    }
}
