private import Glibc

/// Creates and checks a cluster's directories. Never changes permissions of existing directories.
enum ClusterDirectories {
    /// Creates `path` and its missing parents; as root with mode 0755, whatever the umask.
    static func makePassable(_ path: String, isRoot: Bool) throws(ClusterError) {
        var prefix = ""
        for part in path.split(separator: "/") {
            prefix += "/" + part
            if mkdir(prefix, 0o755) == 0 {
                if isRoot && chmod(prefix, 0o755) != 0 { throw .file(path: prefix, call: "chmod", code: errno) }
            } else if errno != EEXIST && !isDirectory(prefix) {
                throw .file(path: prefix, call: "mkdir", code: errno)
            }
        }
    }

    /// Creates `path` with mode 0700 and the owner `account`, or checks that it is such a directory.
    static func makePrivate(_ path: String, account: ServerAccount, isRoot: Bool) throws(ClusterError) {
        if mkdir(path, 0o700) != 0 && errno != EEXIST { throw .file(path: path, call: "mkdir", code: errno) }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == EACCES || errno == ENOTDIR || errno == ELOOP {
                throw .unsafeDirectory(path: path, expected: account.userID)
            }
            throw .file(path: path, call: "open", code: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, call: "fstat", code: errno) }
        // A command killed between these two calls leaves a directory owned by root.
        if isRoot && status.st_uid == 0 {
            guard fchown(descriptor, account.userID, account.groupID) == 0, fstat(descriptor, &status) == 0 else {
                throw .file(path: path, call: "fchown", code: errno)
            }
        }
        guard isPrivate(status, of: account) else {
            throw .unsafeDirectory(path: path, expected: account.userID)
        }
    }

    /// True if only `account` and root can enter the directory.
    static func isPrivate(_ path: String, of account: ServerAccount) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && isPrivate(status, of: account)
    }

    private static func isPrivate(_ status: stat, of account: ServerAccount) -> Bool {
        status.st_mode & S_IFMT == S_IFDIR && status.st_uid == account.userID && status.st_mode & 0o077 == 0
    }

    /// The owner of `path`, without following links; nil if it does not exist or is not visible.
    static func owner(of path: String) -> UInt32? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_uid : nil
    }

    /// Without following links.
    static func exists(_ path: String) -> Bool { owner(of: path) != nil }

    /// An absolute path, with symbolic links resolved in the existing part.
    static func canonical(_ path: String) -> String {
        var absolute = path
        if !path.utf8.starts(with: "/".utf8), let current = getcwd(nil, 0) {
            absolute = String(cString: current) + "/" + path
            free(current)
        }
        var missing: [Substring] = []
        var parts = absolute.split(separator: "/")
        while true {
            let existing = "/" + parts.joined(separator: "/")
            if let resolved = realpath(existing, nil) {
                defer { free(resolved) }
                let base = String(cString: resolved)
                return missing.isEmpty ? base : (base == "/" ? "" : base) + "/" + missing.joined(separator: "/")
            }
            guard let last = parts.popLast() else { return absolute }
            missing.insert(last, at: 0)
        }
    }

    /// Follows links.
    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
