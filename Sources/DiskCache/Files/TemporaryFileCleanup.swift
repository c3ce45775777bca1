import Glibc

/// Deletes temporary files of dead processes when a store is opened.
///
/// Reading a directory of a million files takes seconds. So it is read only if a dead process's open marker shows that
/// there may be such files, and otherwise once a day, when other hosts' files may have become a day old. Ignores
/// failures: another user's files remain until that user opens the store.
struct TemporaryFileCleanup {
    let root: String
    /// For the file that dates the last search.
    let permissions: FilePermissions
    /// In seconds.
    static let interval = 24 * 60 * 60

    func run(_ namespace: String, _ directory: String) {
        let dead = (try? OpenMarker.ofDeadProcesses(in: root)) ?? []
        let mark = root + "/.larder-swept." + namespace
        guard !dead.isEmpty || !Self.isRecent(mark) else { return }
        // A marker does not name the open namespace.
        for directory in dead.isEmpty ? [root, directory] : [root] + subdirectories() {
            Self.deleteAbandoned(in: directory)
        }
        // A marker that cannot be deleted causes another search at the next opening.
        for path in dead { unlink(path) }
        // Only its owner can set the mark's date; others may be able to replace it.
        if utimensat(AT_FDCWD, mark, nil, AT_SYMLINK_NOFOLLOW) == 0 { return }
        unlink(mark)
        _ = try? permissions.createFile(mark)
    }

    /// Deletes abandoned temporary files in `directory` itself.
    static func deleteAbandoned(in directory: String) {
        for file in (try? TemporaryName.files(.temporaryFile, in: directory)) ?? [] where file.isAbandoned {
            unlink(file.path)
        }
    }

    private func subdirectories() -> [String] {
        var found: [String] = []
        guard var names = try? DirectoryStream(ifPresent: root, following: true) else { return [] }
        while let name = try? names.next({ String(cString: $0) }) {
            var status = stat()
            let path = root + "/" + name
            guard !name.hasPrefix("."), stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { continue }
            found.append(path)
        }
        return found
    }

    private static func isRecent(_ mark: String) -> Bool {
        var status = stat()
        guard stat(mark, &status) == 0 else { return false }
        return (0..<interval).contains(time(nil) - status.st_mtim.tv_sec)
    }
}
