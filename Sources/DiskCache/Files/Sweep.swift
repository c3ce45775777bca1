import Glibc

/// Deletes the temporary files of dead processes, without reading large directories for nothing.
///
/// A directory is searched when a process died that had the cache open, else once a day: by then other hosts' files may
/// have become old enough.
struct Sweep {
    /// The cache root.
    let root: String
    /// How long a search is good for, in seconds.
    static let interval = 24 * 60 * 60

    /// Sweeps where that is due.
    ///
    /// - Throws: `StoreError` when the root cannot be read or something may not be deleted.
    func run(_ layout: CacheLayout) throws(StoreError) {
        let dead = try Presence.ofDead(in: root)
        let mark = root + "/.larder-swept." + layout.namespace
        if !dead.isEmpty {
            try Self.clear(root)
            for directory in try namespaces() { try Self.clear(directory) }
            for path in dead where unlink(path) != 0 && errno != ENOENT { throw StoreError("unlink", path) }
        } else if !Self.isFresh(mark) {
            try Self.clear(root)
            try Self.clear(layout.directory)
        } else {
            return
        }
        let file = try Descriptor(opening: mark, O_WRONLY | O_CREAT)
        // Somebody else's mark cannot be dated: then every start searches.
        _ = futimens(file.number, nil)
    }

    private func namespaces() throws(StoreError) -> [String] {
        guard var stream = try DirectoryStream(ifPresent: root, following: true) else { return [] }
        var found: [String] = []
        while let name = try stream.next({ String(cString: $0) }) {
            var status = stat()
            let path = root + "/" + name
            guard !name.hasPrefix("."), stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { continue }
            found.append(path)
        }
        return found
    }

    private static func isFresh(_ mark: String) -> Bool {
        var status = stat()
        guard stat(mark, &status) == 0 else { return false }
        return (0..<interval).contains(time(nil) - status.st_mtim.tv_sec)
    }

    /// Deletes the abandoned temporary files that lie in `directory` itself.
    private static func clear(_ directory: String) throws(StoreError) {
        guard var stream = try DirectoryStream(ifPresent: directory, following: true) else { return }
        while let name = try stream.next({ name in
            name[0] == CChar(bitPattern: UInt8(ascii: ".")) ? String(cString: name) : ""
        }) {
            guard let temporary = TemporaryName(name), temporary.kind == .temporary else { continue }
            var status = stat()
            let file = directory + "/" + name
            guard lstat(file, &status) == 0 else { continue }  // just published, or swept by another
            guard temporary.isAbandoned(age: time(nil) - status.st_mtim.tv_sec) else { continue }
            guard unlink(file) == 0 || errno == ENOENT else { throw StoreError("unlink", file) }
        }
    }
}
