import Foundation
import Glibc

/// A small file system of its own in a file, mounted for one test and unmounted with its last reference.
public final class ImageDisk: Sendable {
    /// What may lie in it.
    public enum Kind: String, Sendable, CaseIterable {
        /// Shares blocks between files, and has quotas of its own kind.
        case btrfs
        /// Shares blocks between files.
        case xfs

        fileprivate var command: [String] {
            switch self {
            case .btrfs: ["mkfs.btrfs", "-q", "-m", "single", "-d", "single"]
            case .xfs: ["mkfs.xfs", "-q", "-m", "reflink=1"]
            }
        }
    }

    /// Where it is mounted.
    public var path: String { directory.file("mounted") }
    private let directory: TemporaryDirectory

    /// Whether this process may mount one of these.
    public static func isPossible(_ kind: Kind) -> Bool {
        let known = (try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8)) ?? ""
        return Privilege.mayMount && access("/dev/loop-control", R_OK | W_OK) == 0
            && known.split(whereSeparator: \.isWhitespace).contains(Substring(kind.rawValue))
            && kind.command.first.flatMap(SystemTool.path(of:)) != nil
    }

    /// Makes and mounts one of 320 MB; only what is written takes room on the disk beneath.
    public init(_ kind: Kind) async throws {
        directory = try TemporaryDirectory(open: true)
        let image = directory.file("image")
        try Data().write(to: URL(filePath: image))
        guard truncate(image, 320 << 20) == 0 else { throw SystemTool.Failure(text: "truncate: errno \(errno)") }
        try await SystemTool.run(kind.command + [image])
        try FileManager.default.createDirectory(atPath: directory.file("mounted"), withIntermediateDirectories: false)
        try await SystemTool.run(["mount", "-o", "loop", image, directory.file("mounted")])
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// A directory in it that may hold no more than `limit` bytes, names and attributes included; btrfs only.
    public func makeQuota(_ name: String, limit: Int) async throws -> String {
        let place = path + "/" + name
        try await SystemTool.run(["btrfs", "-q", "quota", "enable", path])
        try await SystemTool.run(["btrfs", "-q", "subvolume", "create", place])
        try await setQuota(of: place, limit: limit)
        return place
    }

    /// Sets another limit, nil for none.
    public func setQuota(of place: String, limit: Int?) async throws {
        let number = try await SystemTool.run(["btrfs", "inspect-internal", "rootid", place])
        // Asked of the whole file system: beyond its quota a directory takes no new one either.
        try await SystemTool.run(
            ["btrfs", "qgroup", "limit", limit.map(String.init) ?? "none", "0/" + number.filter(\.isNumber), path])
    }
}
