import Glibc

/// Deletes the temporary files of dead processes, without reading large directories for nothing.
///
/// A directory is searched when a process died that had the cache open, else once a day: by then other hosts' files may
/// have become old enough. Nothing of it is an error: what may not be read or deleted here is another user's, and stays for
/// that user's next start.
struct Sweep {
    /// The cache root.
    let root: String
    /// What a new mark gets.
    let permissions: FilePermissions
    /// How long a search is good for, in seconds.
    static let interval = 24 * 60 * 60

    /// Sweeps where that is due.
    func run(_ layout: CacheLayout) {
        let dead = (try? OpenMarker.ofDead(in: root)) ?? []
        let mark = root + "/.larder-swept." + layout.namespace
        if !dead.isEmpty {
            Self.clear(root)
            for directory in namespaces() { Self.clear(directory) }
            // One that may not be deleted makes the next start search, too.
            for path in dead { unlink(path) }
        } else if !Self.isFresh(mark) {
            Self.clear(root)
            Self.clear(layout.directory)
        } else {
            return
        }
        date(mark)
    }

    /// Somebody else's mark cannot be dated, but perhaps replaced; where neither is allowed every start searches.
    private func date(_ mark: String) {
        if utimensat(AT_FDCWD, mark, nil, AT_SYMLINK_NOFOLLOW) == 0 { return }
        unlink(mark)
        try? permissions.makeEmptyFile(mark)
    }

    private func namespaces() -> [String] {
        var found: [String] = []
        Self.eachName(in: root) { name in
            var status = stat()
            let path = root + "/" + name
            guard !name.hasPrefix("."), stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
            found.append(path)
        }
        return found
    }

    private static func isFresh(_ mark: String) -> Bool {
        var status = stat()
        guard stat(mark, &status) == 0 else { return false }
        return (0..<interval).contains(time(nil) - status.st_mtim.tv_sec)
    }

    /// Deletes the abandoned temporary files that lie in `directory` itself, as far as they may be deleted.
    static func clear(_ directory: String) {
        eachName(in: directory) { name in
            guard let temporary = TemporaryName(name), temporary.kind == .temporary else { return }
            var status = stat()
            let file = directory + "/" + name
            guard lstat(file, &status) == 0 else { return }  // just published, or swept by another
            if temporary.isAbandoned(age: time(nil) - status.st_mtim.tv_sec) { unlink(file) }
        }
    }

    /// Hands on the names in a directory, as far as it can be read.
    private static func eachName(in directory: String, _ body: (String) -> Void) {
        guard var stream = try? DirectoryStream(ifPresent: directory, following: true) else { return }
        while let name = try? stream.next({ String(cString: $0) }) { body(name) }
    }
}
