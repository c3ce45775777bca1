import Glibc

/// Directories as a whole: making them, putting them on the disk.
enum Directory {
    /// Makes `path` and its missing parents, with mode 0755 less the umask; what is there already is fine.
    ///
    /// - Parameters:
    ///   - durable: whether new ones must survive a power failure from now on.
    ///   - permissions: what new ones get instead.
    static func make(_ path: String, durable: Bool, _ permissions: FilePermissions) throws(StoreError) {
        if mkdir(path, 0o755) == 0 {
            try permissions.apply(toDirectory: path)
            if durable { try synchronize(parent(of: path)) }
            return
        }
        switch errno {
        case EEXIST:
            var status = stat()
            guard stat(path, &status) == 0 else { throw StoreError("stat", path) }
            guard status.st_mode & S_IFMT == S_IFDIR else { throw StoreError("mkdir", path, number: ENOTDIR) }
        case ENOENT where parent(of: path) != path:
            try make(parent(of: path), durable: durable, permissions)
            // Somebody else may be a step ahead: then this one finds it there.
            if mkdir(path, 0o755) == 0 {
                try permissions.apply(toDirectory: path)
            } else if errno != EEXIST {
                throw StoreError("mkdir", path)
            }
            if durable { try synchronize(parent(of: path)) }
        default: throw StoreError("mkdir", path)
        }
    }

    /// Puts the names in `path` on the disk. The corresponding C function is `fsync`.
    static func synchronize(_ path: String) throws(StoreError) {
        let directory = try Descriptor(opening: path, O_RDONLY | O_DIRECTORY)
        if retrying({ fsync(directory.number) }) < 0 { throw StoreError("fsync", path) }
    }

    private static func parent(of path: String) -> String {
        let parts = path.split(separator: "/")
        let parent = parts.dropLast().joined(separator: "/")
        return path.hasPrefix("/") ? "/" + parent : (parent.isEmpty ? "." : parent)
    }
}
