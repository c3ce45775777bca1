import Foundation

/// A fresh directory that goes with its last reference.
public final class TemporaryDirectory: Sendable {
    /// Its absolute path, without symbolic links.
    public let path: String

    /// Makes it under the system's temporary directory.
    ///
    /// - Parameters:
    ///   - open: others may pass through it, for servers that run under another user.
    ///   - inMemory: in a file system in memory if that has room for a server's databases.
    public init(open: Bool = false, inMemory: Bool = false) throws {
        let system = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
        let base = inMemory ? Self.memory ?? system : system
        path = "\(base)/larder-test-\(UUID().uuidString.prefix(13).lowercased())"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: open ? 0o755 : 0o700])
    }

    /// `/dev/shm`, where it has 4 GiB: containers often give it 64 MiB.
    private static let memory: String? = {
        let path = "/dev/shm"
        let free = try? FileManager.default.attributesOfFileSystem(forPath: path)[.systemFreeSize] as? Int
        return (free ?? 0) >= 4 << 30 ? path : nil
    }()

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of something inside.
    public func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file inside, and gives its path.
    @discardableResult
    public func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        try Data(bytes).write(to: URL(filePath: file(name)))
        return file(name)
    }
}
