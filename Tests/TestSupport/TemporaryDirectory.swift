import Foundation

/// A fresh directory that goes with its last reference.
public final class TemporaryDirectory: Sendable {
    /// Its absolute path, without symbolic links.
    public let path: String

    /// Makes it under the system's temporary directory.
    ///
    /// - Parameter open: others may pass through it, for servers that run under another user.
    public init(open: Bool = false) throws {
        let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
        path = "\(base)/larder-test-\(UUID().uuidString.prefix(13).lowercased())"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: open ? 0o755 : 0o700])
    }

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
