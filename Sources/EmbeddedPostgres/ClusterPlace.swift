private import Glibc
internal import JobQueue

/// A located cluster. All functions block and run on a `ThreadPool`.
struct ClusterPlace: Sendable {
    let home: String
    let paths: ClusterPaths
    let account: ServerAccount
    let isRoot: Bool
    let configuration: EmbeddedCluster.Configuration

    /// The URL of the database `larder`.
    var url: String { url(database: ClusterFiles.role) }

    var commands: ClusterCommands { ClusterCommands(directory: paths.directory, account: account, isRoot: isRoot) }

    /// Longer than creating and starting together, so that a waiting command sees the other one's result.
    private static let maxWait = Duration.seconds(300)

    private func url(database: String) -> String {
        ClusterFiles.url(database: database, socketDirectory: paths.socketDirectory)
    }

    /// The data directory's major version; nil if there is none.
    func dataVersion() -> Int? {
        TextFile.firstLine(paths.data + "/PG_VERSION").flatMap(ServerBinaries.majorVersion)
    }

    /// Starts the server and creates its database, if they are missing.
    func start(willCreate: (String) -> Void) throws(ClusterError) {
        if case .session(let session) = connect(), try hasDatabase(session) { return }
        if !ClusterDirectories.exists(paths.data) { willCreate(paths.directory) }
        try makeDirectories()
        try withLock { () throws(ClusterError) in
            let session = try sessionAfterStart()
            if try !hasDatabase(session) { try execute(session, "CREATE DATABASE \(ClusterFiles.role)") }
        }
    }

    /// Starts the server if it ended without being stopped: it left a process id but does not answer.
    ///
    /// - Returns: whether it was started.
    func restartIfKilled() throws(ClusterError) -> Bool {
        guard isKilled else { return false }
        var isStarted = false
        try withLock { () throws(ClusterError) in
            // Another command may have stopped or started it meanwhile.
            guard isKilled else { return }
            _ = try sessionAfterStart()
            isStarted = true
        }
        return isStarted
    }

    private var isKilled: Bool {
        guard postmaster != nil, case .absent = connect() else { return false }
        return true
    }

    /// Stops the server, ending its sessions.
    func stop() throws(ClusterError) {
        guard ClusterDirectories.exists(paths.data) else { return }
        try withLock { () throws(ClusterError) in try stopServer() }
    }

    /// Upgrades the data directory and starts the server. Nil if it has the newest installed version.
    func upgrade() throws(ClusterError) -> ClusterUpgrade? {
        guard ClusterDirectories.exists(paths.directory) else { throw .notCreated(path: paths.directory) }
        var result: ClusterUpgrade?
        try withLock { () throws(ClusterError) in
            result = try upgradeData()
            _ = try sessionAfterStart()
            // pg_upgrade keeps the planner's statistics only from version 18.
            if result != nil, case .session(let session) = AdminSession.connect(to: url) {
                try execute(session, "ANALYZE")
            }
        }
        return result
    }

    func status() throws(ClusterError) -> ClusterStatus {
        var state = ClusterStatus.State.notCreated
        var version: String?
        if ClusterDirectories.exists(paths.data) {
            state = .stopped
            version = dataVersion().map(String.init)
            switch connect() {
            case .absent: break
            case .session(let session):
                version = try execute(session, "SHOW server_version") ?? version
                state = .running(pid: postmaster ?? 0)
            case .unready: state = .running(pid: postmaster ?? 0)
            case .refused: state = .running(pid: postmaster ?? 0)
            }
        }
        return ClusterStatus(
            state: state, directory: paths.directory, socketDirectory: paths.socketDirectory, serverVersion: version,
            moved: paths.moved)
    }

    /// Connects to the database that every cluster has. Only if the directory is private: otherwise the socket could be
    /// any user's.
    func connect() -> AdminSession.Response {
        guard ClusterDirectories.isPrivate(paths.socketDirectory, of: account) else { return .absent }
        return AdminSession.connect(to: url(database: "postgres"))
    }

    /// The process id in a running server's data directory.
    var postmaster: Int32? { TextFile.firstLine(paths.data + "/postmaster.pid").flatMap { Int32($0) } }

    private func hasDatabase(_ session: borrowing AdminSession) throws(ClusterError) -> Bool {
        try execute(session, "SELECT 1 FROM pg_database WHERE datname = '\(ClusterFiles.role)'") != nil
    }

    @discardableResult
    private func execute(_ session: borrowing AdminSession, _ sql: String) throws(ClusterError) -> String? {
        do { return try session.execute(sql) } catch { throw ClusterError(error) }
    }

    private func makeDirectories() throws(ClusterError) {
        // Also for a cluster outside its home: a home that cannot be created is an error.
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
        try lock.held(waitingAtMost: Self.maxWait, for: path, body)
    }
}

/// The lock for creating, starting or stopping a cluster.
///
/// Released when its process dies; not inherited by children (`flock`).
struct ClusterLock: ~Copyable {
    private let descriptor: Int32

    /// Opens the lock file, creating it for `account` if missing.
    init(_ path: String, account: ServerAccount, isRoot: Bool) throws(ClusterError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(path: path, call: "open", code: errno) }
        // The cluster's user must be able to lock a file that root created. Do not change a file with several links:
        // the user owns the directory and may have linked any file here.
        var status = stat()
        if isRoot && fstat(descriptor, &status) == 0 && status.st_uid == 0 && status.st_nlink == 1
            && status.st_size == 0
        {
            _ = fchown(descriptor, account.userID, account.groupID)
        }
    }

    deinit { close(descriptor) }

    /// Waits for the lock, at most `limit`, and runs `body` while holding it. Throws `.busy`.
    func held(
        waitingAtMost limit: Duration, for path: String, _ body: () throws(ClusterError) -> Void
    ) throws(ClusterError) {
        let deadline = ContinuousClock.now + limit
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw .file(path: path, call: "flock", code: errno) }
            guard ContinuousClock.now < deadline else { throw .busy(path: path) }
            usleep(10_000)
        }
        defer { flock(descriptor, LOCK_UN) }
        try body()
    }
}

package struct ClusterStatus: Sendable, Equatable {
    /// Whether the cluster exists and its server runs.
    package enum State: Sendable, Equatable {
        case notCreated
        case stopped
        /// The postmaster's process id.
        case running(pid: Int32)
    }

    package let state: State
    /// Also before the cluster is created.
    package let directory: String
    package let socketDirectory: String
    /// A running server's full version (`15.8 (Debian …)`), a stopped one's major version.
    package let serverVersion: String?
    /// Why `directory` is not in the home, one line; nil if it is.
    package let moved: String?
}
