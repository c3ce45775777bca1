private import Glibc

/// The right to create, start or stop a cluster: one command at a time has it.
///
/// The kernel takes it back when its process dies, and no child inherits it. The corresponding C function is `flock`.
struct ClusterLock: ~Copyable {
    private let descriptor: Int32

    /// Opens the file `path`, which is made for `account` when it is missing; `held` takes the lock.
    init(_ path: String, account: ServerAccount, isRoot: Bool) throws(ClusterError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(path: path, call: "open", code: errno) }
        // Root must not leave a file behind that the cluster's own user could not lock, and must not give away one
        // that this user linked here: it owns the directory.
        var status = stat()
        if isRoot && fstat(descriptor, &status) == 0 && status.st_uid == 0 && status.st_nlink == 1
            && status.st_size == 0
        {
            _ = fchown(descriptor, account.userID, account.groupID)
        }
    }

    deinit { close(descriptor) }

    /// Waits for the lock, at most `limit`, and runs `body` with it.
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
