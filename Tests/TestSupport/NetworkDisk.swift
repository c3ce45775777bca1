import Foundation
import Glibc

/// One directory on a server for files, seen by two clients: an SFTP server of its own for each, mounted with sshfs.
///
/// A network file system at its worst: no extended attributes, no birth dates, whole seconds, locks that no
/// other client sees, and each client with a memory of its own. Unmounted with its last reference.
public final class NetworkDisk: Sendable {
    private let directory: TemporaryDirectory

    /// Where the two clients see it.
    public var mounts: [String] { ["first", "second"].map(directory.file) }
    /// Where the server has it.
    public var exported: String { directory.file("exported") }

    /// Whether this process may mount one.
    public static let isPossible: Bool =
        Privilege.mayMount && access("/dev/fuse", R_OK | W_OK) == 0 && SystemTool.path(of: "sshfs") != nil
        && SystemTool.path(of: "sftp-server") != nil

    /// Makes and mounts it.
    public init() async throws {
        directory = try TemporaryDirectory()
        // sshfs asks for a command that leads to a host; this one stays here.
        let door = try directory.write("#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n".utf8, to: "door")
        guard chmod(door, 0o700) == 0 else { throw SystemTool.Failure(text: "chmod: errno \(errno)") }
        for place in mounts + [exported] {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        }
        for mount in mounts {
            try await SystemTool.run(["sshfs", "-o", "ssh_command=\(door)", "nowhere:\(exported)", mount])
        }
    }

    // Each client and its server end when they are unmounted.
    deinit { for mount in mounts { umount2(mount, Int32(MNT_DETACH)) } }
}
