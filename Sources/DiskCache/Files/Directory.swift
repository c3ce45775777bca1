import Glibc

enum Directory {
    /// Creates `path` and missing parents; existing directories are unchanged.
    ///
    /// - Parameters:
    ///   - durable: whether to sync new directories.
    ///   - permissions: for new directories, 0755 minus the umask by default.
    static func create(_ path: String, durable: Bool, _ permissions: FilePermissions) throws(StoreError) {
        let parent = parent(of: path)
        var result = mkdir(path, 0o755)
        if result != 0 && errno == ENOENT && parent != path {
            try create(parent, durable: durable, permissions)
            result = mkdir(path, 0o755)
        }
        if result == 0 {
            try permissions.apply(toDirectory: path)
            if durable { try synchronize(parent) }
            return
        }
        guard errno == EEXIST else { throw StoreError("mkdir", path) }
        var status = stat()
        guard stat(path, &status) == 0 else { throw StoreError("stat", path) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw StoreError("mkdir", path, number: ENOTDIR) }
    }

    /// Syncs the names in a directory (`fsync`).
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
