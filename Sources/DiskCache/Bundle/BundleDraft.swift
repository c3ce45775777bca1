import Glibc

/// A bundle's directory while it is made, under a hidden name beside the one it will have; deleted with its owner unless it
/// got that.
struct BundleDraft: ~Copyable {
    /// Where its files go.
    let path: String
    private let destination: String

    /// Makes it, with the directory of the files in it. Deletes what dead processes left beside it.
    ///
    /// - Throws: `StoreError`, `exists` when something has the name already.
    init(of destination: String) throws(StoreError) {
        let slash = UInt8(ascii: "/")
        let trimmed = destination.utf8.reversed().drop { $0 == slash }.reversed()
        let name = trimmed.isEmpty ? destination : String(decoding: trimmed, as: UTF8.self)
        var status = stat()
        guard lstat(name, &status) != 0 else { throw StoreError(.exists, "export to", name) }
        let parent = name.utf8.lastIndex(of: slash).map { String(name[...$0]) } ?? "./"
        Self.sweep(parent)
        let draft = parent + TemporaryName.ofThisProcess(.bundle).text
        do throws(StoreError) {
            try Directory.make(draft + "/" + BundleExport.namespace, durable: false, FilePermissions())
        } catch {
            Self.remove(draft)
            throw error
        }
        self.destination = name
        path = draft
    }

    // The rename took the hidden name away, and nothing else ever gets it.
    deinit { Self.remove(path) }

    /// Gives it its name, in one step.
    func name() throws(StoreError) {
        guard rename(path, destination) == 0 else { throw StoreError("rename", destination) }
    }

    private static func sweep(_ parent: String) {
        guard var stream = try? DirectoryStream(ifPresent: parent, following: true) else { return }
        while let name = try? stream.next({ String(cString: $0) }) {
            guard let parsed = TemporaryName(name), parsed.kind == .bundle else { continue }
            var status = stat()
            // What another user has put there is none of this one's.
            guard lstat(parent + name, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
                parsed.isAbandoned(age: time(nil) - status.st_mtim.tv_sec)
            else { continue }
            remove(parent + name)
        }
    }

    /// Deletes what an export can have made, and nothing behind a link.
    private static func remove(_ draft: String) {
        let inside = draft + "/" + BundleExport.namespace
        var status = stat()
        if lstat(inside, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            try? DirectoryWalk(directory: inside, meetsHidden: true).visit { entry in
                unlink(inside + "/" + entry.path)
                return true
            }
            rmdir(inside)
        }
        unlink(draft + "/" + CacheLayout.manifestName)
        rmdir(draft)
    }
}
