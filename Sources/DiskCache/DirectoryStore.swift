private import CLinux
import Glibc

/// Images as files in a directory, compatible with SDWebImage's disk cache.
///
/// Any number of processes may use one directory. Files get their names by renaming, so a visible name always refers to
/// a complete file, whichever process is killed. Source: SDWebImage 5.21.5, `SDDiskCache`, which does not report every
/// failure.
public struct DirectoryStore: ImageStore {
    package let layout: CacheLayout
    /// Which committed files survive a power failure.
    public let durability: Durability
    /// Read-only stores that `open` searches for missing images: SDWebImage's additional cache path.
    public let fallbacks: [any ImageStore]
    /// Keeps this process's open marker; nil in a store that was not opened.
    let openMarker: OpenMarker?
    let permissions: FilePermissions

    /// Accesses a cache without creating directories, id or open marker.
    package init(_ layout: CacheLayout) {
        self.layout = layout
        durability = .data
        fallbacks = []
        openMarker = nil
        permissions = FilePermissions()
    }

    /// Opens the cache in `root`: creates missing directories and its id, and tests that it is writable.
    ///
    /// Deletes temporary files of dead processes, as far as permissions allow; those from other hosts and containers
    /// only when they are a day old.
    ///
    /// - Parameters:
    ///   - root: the cache root.
    ///   - namespace: `default` by default.
    ///   - naming: SDWebImage's by default.
    ///   - durability: `.data` by default.
    ///   - permissions: for new files and directories; by default 0644 and 0755 minus the umask.
    ///   - fallbacks: none by default.
    /// - Throws: `StoreError`.
    public init(
        opening root: String, namespace: String = "default", naming: any CacheNaming = .sdWebImage,
        durability: Durability = .data, permissions: FilePermissions = FilePermissions(),
        fallbacks: [any ImageStore] = []
    ) throws(StoreError) {
        layout = try CacheLayout(root: root, namespace: namespace, naming: naming)
        self.durability = durability
        self.permissions = permissions
        self.fallbacks = fallbacks
        try Directory.create(layout.directory, durable: durability == .full, permissions)
        TemporaryFileCleanup(root: root, permissions: permissions).run(layout.namespace, layout.directory)
        openMarker = try OpenMarker(in: root, permissions)
        _ = try cacheID
        // access(2) reports neither quotas nor, to root, read-only mounts.
        let probe = try TemporaryFile(in: layout.directory, permissions)
        if naming.mayShareNames { try checkRecords(probe) }
    }

    /// SDWebImage's by default.
    public var naming: any CacheNaming { layout.naming }

    /// The last component of the layout's directory.
    public var directory: String { naming.directory(of: layout.namespace) }

    /// Read from a hidden file in the root, which is created if missing.
    public var cacheID: String {
        get throws(StoreError) { try CacheID.readOrCreate(in: layout.root, permissions) }
    }

    // MARK: - Reading

    /// Opens a regular file and sets its access time, unless the file system or permissions prevent that.
    public func open(named name: String) throws(StoreError) -> OpenFile? {
        openMarker?.refresh()
        let file = try reading(name) { (path) throws(StoreError) in try OpenFile(ifPresent: path) }
        try file?.touch()
        return file
    }

    /// Opens a regular file; reading it keeps the access time if this process owns it.
    public func peek(named name: String) throws(StoreError) -> OpenFile? {
        try reading(name) { (path) throws(StoreError) in try OpenFile(peekingAt: path) }
    }

    /// The creation date, shortly before the file was stored; nil if it does not exist. The modification date if the
    /// file system does not record creation.
    package func creationDate(named name: String) throws(StoreError) -> Timestamp? {
        let path = layout.path(named: name)
        var status = larder_entry()
        if larder_read_entry(AT_FDCWD, path, &status) == 0 { return Timestamp(nanoseconds: status.created) }
        guard errno == ENOENT else { throw StoreError("stat", path) }
        return nil
    }

    // MARK: - Writing

    /// Creates a temporary file with a hidden name in the directory, and the directory if deleted.
    public func begin() throws(StoreError) -> TemporaryFile {
        openMarker?.refresh()
        do throws(StoreError) {
            return try TemporaryFile(in: layout.directory, permissions)
        } catch {
            guard error.code == .missing else { throw error }
            try Directory.create(layout.directory, durable: durability == .full, permissions)
            return try TemporaryFile(in: layout.directory, permissions)
        }
    }

    /// Dates the file if the naming's library reads the date, syncs it as `durability` says, renames it, and for
    /// `.full` syncs the directory.
    public func commit(
        _ file: TemporaryFile, named name: String, if isPermitted: () -> Bool
    ) throws(StoreError) -> Bool {
        if let date = naming.modificationDate { try file.setModificationDate(date) }
        try file.synchronize(durability)
        guard isPermitted() else { return false }
        let path = layout.path(named: name)
        if naming.mayShareNames { try claim(name, for: file) } else { try file.rename(to: path) }
        if durability == .full { try Directory.synchronize(Self.parent(of: path)) }
        return true
    }

    /// Deletes a file and returns whether it existed. Refuses a directory that is a symbolic link.
    public func remove(named name: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try HeldDirectory(of: layout).unlink(name)
        } catch {
            guard error.code == .missing else { throw error }
            return false
        }
    }
}

extension DirectoryStore {
    /// Files moved and left by `adopt`.
    public struct Adoption: Hashable, Sendable {
        /// Moved to this cache.
        public var moved = 0
        /// Left because this cache has a file of that name.
        public var left = 0
    }

    /// Moves the files of a cache of SDWebImage before 5.0, for example
    /// `default/com.hackemist.SDWebImageCache.default`, into this one under their old names, where `open` finds them.
    ///
    /// Existing files are kept. The old directory is deleted once empty; SDWebImage always deletes it. May be repeated
    /// after a crash.
    ///
    /// - Parameter directory: on the same file system.
    /// - Throws: `StoreError`, `missing` if there is no such directory.
    public func adopt(_ directory: String) throws(StoreError) -> Adoption {
        var adoption = Adoption()
        try DirectoryWalk(directory: directory, includesHidden: false).visit { (entry) throws(StoreError) in
            guard !entry.isDirectory, !entry.path.utf8.contains(UInt8(ascii: "/")) else { return true }
            let old = directory + "/" + entry.path
            // link(2) keeps an existing file, rename(2) would replace it.
            if link(old, layout.path(named: entry.path)) == 0 {
                guard unlink(old) == 0 || errno == ENOENT else { throw StoreError("unlink", old) }
                adoption.moved += 1
            } else if errno == EEXIST {
                adoption.left += 1
            } else {
                throw StoreError("link", old)
            }
            return true
        }
        guard rmdir(directory) == 0 || errno == ENOTEMPTY || errno == EEXIST else {
            throw StoreError("rmdir", directory)
        }
        return adoption
    }
}

/// Which committed files survive a power failure. A process crash never damages one.
public enum Durability: String, Sendable, CaseIterable {
    /// No sync: a recently committed file may be missing, empty or truncated.
    case none
    /// Syncs the bytes before the rename (`fdatasync`): the file is complete or missing. The default.
    case data
    /// Syncs file and directory before `commit` returns (`fsync`): the file is there.
    case full
}
