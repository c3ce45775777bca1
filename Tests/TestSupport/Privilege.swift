import Glibc

/// What this process may do to the system.
public enum Privilege {
    /// Whether it may mount file systems.
    public static let mayMount: Bool = {
        guard getuid() == 0, let directory = try? TemporaryDirectory() else { return false }
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=1m") == 0 else { return false }
        umount2(directory.path, Int32(MNT_DETACH))
        return true
    }()
}
