import Glibc

/// Directories as a whole: making them, listing them, putting them on the disk.
enum Directory {
    /// Makes `path` and its missing parents, with mode 0755 less the umask; what is there already is fine.
    ///
    /// - Parameter durable: whether new ones must survive a power failure from now on.
    static func make(_ path: String, durable: Bool) throws(StoreError) {
        if mkdir(path, 0o755) == 0 {
            if durable { try synchronize(parent(of: path)) }
            return
        }
        switch errno {
        case EEXIST:
            var status = stat()
            guard stat(path, &status) == 0 else { throw StoreError("stat", path) }
            guard status.st_mode & S_IFMT == S_IFDIR else { throw StoreError("mkdir", path, number: ENOTDIR) }
        case ENOENT where parent(of: path) != path:
            try make(parent(of: path), durable: durable)
            // Somebody else may be a step ahead: then this one finds it there.
            guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw StoreError("mkdir", path) }
            if durable { try synchronize(parent(of: path)) }
        default: throw StoreError("mkdir", path)
        }
    }

    /// The names in `path`, hidden ones too, without `.` and `..`.
    static func names(in path: String) throws(StoreError) -> [String] {
        guard let directory = opendir(path) else { throw StoreError("opendir", path) }
        defer { closedir(directory) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw StoreError("readdir", path) }
        return names
    }

    /// Puts the names in `path` on the disk. The corresponding C function is `fsync`.
    static func synchronize(_ path: String) throws(StoreError) {
        let directory = try Descriptor(opening: path, O_RDONLY | O_DIRECTORY)
        if retrying({ fsync(directory.number) }) < 0 { throw StoreError("fsync", path) }
    }

    /// Deletes the temporary files in `path` whose writers are dead.
    static func sweep(_ path: String) throws(StoreError) {
        for name in try names(in: path) {
            guard let temporary = TemporaryName(name) else { continue }
            var status = stat()
            let file = path + "/" + name
            guard lstat(file, &status) == 0 else { continue }  // just published, or swept by another
            guard temporary.isAbandoned(age: time(nil) - status.st_mtim.tv_sec) else { continue }
            guard unlink(file) == 0 || errno == ENOENT else { throw StoreError("unlink", file) }
        }
    }

    private static func parent(of path: String) -> String {
        let parts = path.split(separator: "/")
        let parent = parts.dropLast().joined(separator: "/")
        return path.hasPrefix("/") ? "/" + parent : (parent.isEmpty ? "." : parent)
    }
}
