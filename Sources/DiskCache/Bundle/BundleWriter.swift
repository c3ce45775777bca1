import Glibc

/// A bundle's destination: an archive or a directory.
protocol BundleWriter: ~Copyable {
    /// Passes a file's contents to its parameter, block by block.
    typealias Fill = (_ write: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) -> Void

    /// - Parameter date: modification date; nil is 1970-01-01, so that equal files give equal bytes.
    func add(_ name: String, size: Int, date: Timestamp?, _ fill: Fill) throws(StoreError)

    /// Completes the bundle, which is unusable before.
    func finish() throws(StoreError)
}

/// Writes a bundle's directory under a hidden name next to its destination and renames it at the end. `deinit` deletes
/// it unless renamed.
struct BundleDirectoryWriter: BundleWriter, ~Copyable {
    let path: String
    private let destination: String

    /// Also deletes leftovers of dead processes next to `destination`.
    ///
    /// - Parameter directory: the directory of the images.
    /// - Throws: `StoreError`, `exists` if `destination` exists.
    init(_ destination: String, directory: String) throws(StoreError) {
        let slash = UInt8(ascii: "/")
        let trimmed = destination.utf8.reversed().drop { $0 == slash }.reversed()
        let name = trimmed.isEmpty ? destination : String(decoding: trimmed, as: UTF8.self)
        var status = stat()
        guard lstat(name, &status) != 0 else { throw StoreError(.exists, "export to", name) }
        let parent = name.utf8.lastIndex(of: slash).map { String(name[...$0]) } ?? "./"
        Self.deleteAbandoned(in: parent)
        let path = parent + TemporaryName.ofThisProcess(.bundle).text
        do throws(StoreError) {
            try Directory.create(path + "/" + directory, durable: false, FilePermissions())
        } catch {
            Self.delete(path)
            throw error
        }
        self.destination = name
        self.path = path
    }

    // After the rename the hidden name does not exist, and is never reused.
    deinit { Self.delete(path) }

    func add(_ name: String, size: Int, date: Timestamp?, _ fill: Fill) throws(StoreError) {
        let path = path + "/" + name
        try Directory.create(DirectoryStore.parent(of: path), durable: false, FilePermissions())
        let file = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL)
        let number = file.number
        try fill { (bytes) throws(StoreError) in try file.write(bytes, to: path) }
        let modified = timespec(tv_sec: date?.seconds ?? 0, tv_nsec: 0)
        guard futimens(number, [timespec(), modified]) == 0 else { throw StoreError("futimens", path) }
    }

    func finish() throws(StoreError) {
        guard rename(path, destination) == 0 else { throw StoreError("rename", destination) }
    }

    private static func deleteAbandoned(in parent: String) {
        for file in (try? TemporaryName.files(.bundle, in: parent)) ?? []
        where file.isAbandoned && file.status.st_mode & S_IFMT == S_IFDIR && file.status.st_uid == geteuid() {
            delete(file.path)
        }
    }

    /// Deletes only what a writer can have created, and follows no symbolic link.
    private static func delete(_ path: String) {
        for files in (CacheNamings.directories + YYCacheWriter.directories).map({ path + "/" + $0 }) {
            var status = stat()
            if lstat(files, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, let held = try? HeldDirectory(files) {
                var directories: [String] = []
                try? DirectoryWalk(directory: files, includesHidden: true).visit { entry in
                    if entry.isDirectory { directories.append(entry.path) } else { _ = try? held.unlink(entry.path) }
                    return true
                }
                for directory in directories.sorted(by: >) { try? held.rmdir(directory) }
                rmdir(files)
            }
        }
        for file in [BundleLayout.manifest] + YYCacheWriter.files { unlink(path + "/" + file) }
        rmdir(path)
    }
}

/// Paths in a bundle: a read-only cache with a manifest.
package enum BundleLayout {
    package static let manifest = "manifest.jsonl"

    /// As in the library's shared cache, so that the bundle's root can be a cache root.
    static func directory(_ naming: any CacheNaming) -> String { naming.directory(of: "default") }
}
