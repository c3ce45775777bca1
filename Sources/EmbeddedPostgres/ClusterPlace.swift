private import Glibc

/// A cluster that has been located. Everything here blocks: it runs on a `ThreadPool`.
struct ClusterPlace: Sendable {
    let home: String
    let paths: ClusterPaths
    let account: ServerAccount
    /// The caller is root.
    let isRoot: Bool
    let configuration: EmbeddedCluster.Configuration

    /// How to reach the database `larder`.
    var url: String { url(database: ClusterFiles.role) }

    var commands: ClusterCommands { ClusterCommands(directory: paths.directory, account: account, isRoot: isRoot) }

    /// Longer than creating and starting may take together, so that who waits sees the result of who works.
    private static let patience = Duration.seconds(300)

    private func url(database: String) -> String {
        ClusterFiles.url(database: database, socketDirectory: paths.socketDirectory)
    }

    /// The major version that made the data directory; nil when there is none.
    func dataVersion() -> Int? {
        TextFile.firstLine(paths.data + "/PG_VERSION").flatMap(ServerBinaries.majorVersion)
    }

    /// Up with the server and its database; nothing to do when both are there.
    func start() throws(ClusterError) {
        if case .session(let session) = call(), try hasDatabase(session) { return }
        try makeDirectories()
        try withLock { () throws(ClusterError) in
            let session = try sessionAfterStart()
            if try !hasDatabase(session) { try session.ask("CREATE DATABASE \(ClusterFiles.role)") }
        }
    }

    /// Down with the server, at once but cleanly.
    func stop() throws(ClusterError) {
        guard ClusterDirectories.exists(paths.data) else { return }
        try withLock { () throws(ClusterError) in try stopServer() }
    }

    func status() throws(ClusterError) -> ClusterStatus {
        var state = ClusterStatus.State.notCreated
        var version: String?
        if ClusterDirectories.exists(paths.data) {
            state = .stopped
            version = dataVersion().map(String.init)
            switch call() {
            case .silent: break
            case .session(let session):
                version = try session.ask("SHOW server_version") ?? version
                state = .running(pid: postmaster ?? 0)
            case .rejecting: state = .running(pid: postmaster ?? 0)
            case .refused: state = .running(pid: postmaster ?? 0)
            }
        }
        return ClusterStatus(
            state: state, directory: paths.directory, socketDirectory: paths.socketDirectory, serverVersion: version,
            moved: paths.moved)
    }

    /// Asks who listens, by the database that every cluster has.
    ///
    /// Only in a directory that nobody else could have put a socket into.
    func call() -> MaintenanceSession.Reply {
        guard ClusterDirectories.isPrivate(paths.socketDirectory, of: account) else { return .silent }
        return MaintenanceSession.call(url(database: "postgres"))
    }

    /// The process id a running server left in its data directory.
    var postmaster: Int32? { TextFile.firstLine(paths.data + "/postmaster.pid").flatMap { Int32($0) } }

    private func hasDatabase(_ session: borrowing MaintenanceSession) throws(ClusterError) -> Bool {
        try session.ask("SELECT 1 FROM pg_database WHERE datname = '\(ClusterFiles.role)'") != nil
    }

    private func makeDirectories() throws(ClusterError) {
        // The home, too, where the cluster lies elsewhere: one that cannot be is a mistake, not a reason to move.
        try ClusterDirectories.makePassable(home, isRoot: isRoot)
        if paths.moved != nil { try ClusterDirectories.makePassable(configuration.clusters, isRoot: isRoot) }
        try ClusterDirectories.makePrivate(paths.directory, account: account, isRoot: isRoot)
        guard !paths.socketDirectory.utf8.elementsEqual(paths.directory.utf8) else { return }
        if paths.socketDirectory.utf8.starts(with: (configuration.clusters + "/").utf8) {
            try ClusterDirectories.makePassable(configuration.clusters, isRoot: isRoot)
        }
        try ClusterDirectories.makePrivate(paths.socketDirectory, account: account, isRoot: isRoot)
    }

    private func withLock(_ body: () throws(ClusterError) -> Void) throws(ClusterError) {
        let path = paths.directory + "/lock"
        let lock = try ClusterLock(path, account: account, isRoot: isRoot)
        try lock.held(waitingAtMost: Self.patience, for: path, body)
    }
}
