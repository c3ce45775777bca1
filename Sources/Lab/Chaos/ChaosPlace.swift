import Concurrency
import FoundationEssentials
import Glibc
import Measuring

/// A run's directories, in a temporary directory that is removed when this process ends for any reason.
///
/// As root, database and cache each have a small memory file system, which can be filled.
final class ChaosPlace: Sendable {
    struct Disk: Sendable {
        let path: String
        let device: dev_t
        var ballast: String { path + "/ballast" }
    }

    private let scratch: Scratch
    private let thread = ThreadPool(name: "chaos-files", threads: 1)
    /// Nil if nothing can be mounted.
    let databaseDisk: Disk?
    let cacheDisk: Disk?

    var home: String { scratch.path + "/home" }
    var cache: String { scratch.path + "/images/cache" }
    var sockets: String { scratch.path + "/sockets" }
    /// The first worker's clock, as read by libfaketime.
    var clockFile: String { scratch.path + "/clock" }
    let logs: String

    private static let mark = "LARDER_CHAOS_NAMESPACE"

    /// Restarts the program in its own mount namespace, so that its file systems end with its last process. Does
    /// nothing without the necessary rights, and the second time.
    static func enterNamespace() async throws {
        guard geteuid() == 0, getenv(mark) == nil else { return }
        let thread = ThreadPool(name: "chaos-start", threads: 1)
        await thread.run {
            guard (try? Shell.output("unshare -m --propagation private true 2>/dev/null")) != nil,
                let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            else { return }
            setenv(mark, "1", 1)
            let words = (["unshare", "-m", "--propagation", "private", program] as [String]).map { strdup($0) }
            let rest = (1..<Int(Swift.CommandLine.argc)).map { Swift.CommandLine.unsafeArgv[$0] }
            // The mask of this thread is not the program's.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            execvp("unshare", words + rest + [nil])
        }
    }

    /// - Parameters:
    ///   - logs: the directory of the workers' logs; in the temporary directory by default, and then kept after a
    ///     violation or an error.
    ///   - seconds: the length of the run, which the database's file system must hold.
    ///   - hasDatabase: whether the run has a private database.
    init(logs: String?, seconds: Int, hasDatabase: Bool) async throws {
        scratch = try Scratch()
        let path = scratch.path
        self.logs = logs ?? path + "/logs"
        for directory in [path + "/home", path + "/images", path + "/sockets", self.logs] {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }
        guard getenv(Self.mark) != nil else {
            (databaseDisk, cacheDisk) = (nil, nil)
            return
        }
        let megabytes = 384 + seconds / 2
        let wanted = (hasDatabase ? [(path + "/home", megabytes)] : []) + [(path + "/images", 384)]
        let mounted = try await thread.run { () throws(any Error) in
            for (directory, size) in wanted {
                _ = try Shell.output("mount -t tmpfs -o size=\(size)m,mode=0755 larder-chaos '\(directory)'")
            }
            return wanted.map { directory, _ in
                var status = stat()
                stat(directory, &status)
                return Disk(path: directory, device: status.st_dev)
            }
        }
        databaseDisk = hasDatabase ? mounted[0] : nil
        cacheDisk = mounted.last
    }

    /// Writes until the file system is full. Deleting the directory from outside unmounts it, and the same path is then
    /// on the machine's own disk, where nothing is written.
    func fill(_ disk: Disk) async {
        await thread.run {
            let descriptor = open(disk.ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_dev == disk.device else { return }
            let portion = [UInt8](repeating: 0, count: 1 << 20)
            // Smaller portions at the end, so that no page is left.
            for size in [1 << 20, 1 << 12] { while Glibc.write(descriptor, portion, size) > 0 {} }
        }
    }

    func empty(_ disk: Disk) async { await thread.run { _ = unlink(disk.ballast) } }

    /// Moves the logs out of the temporary directory, which is removed; returns their new location.
    func keepLogs() async throws -> String {
        let kept = scratch.path + "-logs"
        guard logs.hasPrefix(scratch.path) else { return logs }
        try await thread.run { [logs] () throws(any Error) in
            try FileManager.default.moveItem(atPath: logs, toPath: kept)
        }
        return kept
    }

    /// Unmounts the file systems; the server has ended.
    func unmount() async {
        await thread.run { [databaseDisk, cacheDisk] in
            for disk in [databaseDisk, cacheDisk].compactMap(\.self) { umount2(disk.path, Int32(MNT_DETACH)) }
        }
    }

    func write(_ text: String, to path: String) async throws {
        try await thread.run { () throws(any Error) in
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        }
    }

    /// The lines of a worker's log that contain `text`.
    func lines(with text: String, ofLog name: String) async throws -> [String] {
        try await thread.run { [logs] () throws(any Error) in
            try String(contentsOfFile: "\(logs)/\(name).log", encoding: .utf8).split(separator: "\n")
                .filter { $0.contains(text) }.map(String.init)
        }
    }

    /// The names of temporary files in the cache.
    func temporaryFiles() async throws -> [String] {
        try await thread.run { [cache] () throws(any Error) in
            try FileManager.default.subpathsOfDirectory(atPath: cache).filter {
                $0.split(separator: "/").last?.hasPrefix(".larder.") ?? false
            }
        }
    }

    /// A cache file's bytes; nil if unreadable.
    func bytes(_ path: String) async -> [UInt8]? {
        await thread.run { [cache] in
            (try? Data(contentsOf: URL(filePath: cache + "/" + path))).map { Array($0) }
        }
    }
}
