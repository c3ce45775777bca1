import Glibc
import Synchronization

/// A hidden empty file in the cache root that says: this process has the cache open. Removed with its last reference.
///
/// Where a dead process' file lies, its temporary files may lie, too: only then is the directory searched for them.
/// Where a living one's lies, somebody is at work, and expiry spares what was just used.
final class OpenMarker: Sendable {
    let path: String
    private let permissions: FilePermissions
    /// When the file last got a new date, in seconds since the system's start.
    let refreshed: Mutex<Int>

    /// Other hosts see by its date that the process still lives.
    private static let refreshInterval = 3600

    init(in root: String, _ permissions: FilePermissions = FilePermissions()) throws(StoreError) {
        path = root + "/" + TemporaryName.ofThisProcess(.presence).text
        self.permissions = permissions
        // Not kept open: the file system could not be remounted read-only.
        try permissions.makeEmptyFile(path)
        refreshed = Mutex(Self.uptime)
    }

    deinit { unlink(path) }

    /// Called with every read and store: but once in an hour that is a look at the clock.
    ///
    /// - Parameter now: seconds since the system's start.
    func refresh(at now: Int = OpenMarker.uptime) {
        let isDue = refreshed.withLock { last in
            guard now - last >= Self.refreshInterval else { return false }
            last = now
            return true
        }
        guard isDue, utimensat(AT_FDCWD, path, nil, 0) != 0, errno == ENOENT else { return }
        // Another host took a process that had nothing to do for a day for dead.
        try? permissions.makeEmptyFile(path)
    }

    /// Whether a process has the cache in `root` open, this one included.
    static func anyLives(in root: String) throws(StoreError) -> Bool {
        try all(in: root).contains { !$0.isDead }
    }

    /// The paths of what dead processes left in `root`.
    static func ofDead(in root: String) throws(StoreError) -> [String] {
        try all(in: root).filter(\.isDead).map(\.path)
    }

    private static func all(in root: String) throws(StoreError) -> [(path: String, isDead: Bool)] {
        guard var stream = try DirectoryStream(ifPresent: root, following: true) else { return [] }
        var found: [(String, Bool)] = []
        while let name = try stream.next({ String(cString: $0) }) {
            guard let parsed = TemporaryName(name), parsed.kind == .presence else { continue }
            var status = stat()
            let path = root + "/" + name
            guard lstat(path, &status) == 0 else { continue }
            found.append((path, parsed.isAbandoned(age: time(nil) - status.st_mtim.tv_sec)))
        }
        return found
    }

    /// Seconds since the system's start.
    static var uptime: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec
    }
}
