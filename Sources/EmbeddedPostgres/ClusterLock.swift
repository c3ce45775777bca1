private import Glibc

/// The lock for creating, starting or stopping a cluster.
///
/// Released when its process dies; children do not inherit it (`flock`).
struct ClusterLock: ~Copyable {
    private let descriptor: Int32

    /// Opens the lock file, and creates it for `account` if it is missing.
    init(_ path: String, account: ServerAccount, isRoot: Bool) throws(ClusterError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(path: path, call: "open", code: errno) }
        // The cluster's user must be able to lock a file that root created. A file with links is not changed: the
        // user owns the directory and may have linked any file here.
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
