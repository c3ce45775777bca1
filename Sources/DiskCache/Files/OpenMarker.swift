internal import Concurrency
import Glibc

/// A hidden empty file in the cache root that exists while a process has the store open; deleted with its last
/// reference.
///
/// A dead process's marker means that temporary files may remain; a running one's means that expiry must spare recently
/// used files.
final class OpenMarker: Sendable {
    let path: String
    private let permissions: FilePermissions
    /// Uptime in seconds when the file was last dated.
    let refreshed: Locked<Int>

    /// In seconds. Other hosts judge by the file's date whether the process runs.
    private static let refreshInterval = 3600

    init(in root: String, _ permissions: FilePermissions = FilePermissions()) throws(StoreError) {
        path = root + "/" + TemporaryName.ofThisProcess(.openMarker).text
        self.permissions = permissions
        // Closed at once: an open file would prevent a read-only remount.
        _ = try permissions.createFile(path)
        refreshed = Locked(Self.uptime)
    }

    deinit { unlink(path) }

    /// Updates the file's date once an hour, at the next use of the store.
    ///
    /// - Parameter now: uptime in seconds.
    func refresh(at now: Int = OpenMarker.uptime) {
        let isDue = refreshed.withLock { last in
            guard now - last >= Self.refreshInterval else { return false }
            last = now
            return true
        }
        guard isDue, utimensat(AT_FDCWD, path, nil, 0) != 0, errno == ENOENT else { return }
        // Another host deleted it because this process had not used the store for a day.
        _ = try? permissions.createFile(path)
    }

    /// Whether a process, possibly this one, has the cache in `root` open.
    static func existsForRunningProcess(in root: String) throws(StoreError) -> Bool {
        try TemporaryName.files(.openMarker, in: root).contains { !$0.isAbandoned }
    }

    static func ofDeadProcesses(in root: String) throws(StoreError) -> [String] {
        try TemporaryName.files(.openMarker, in: root).filter(\.isAbandoned).map(\.path)
    }

    /// In seconds.
    static var uptime: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec
    }
}
