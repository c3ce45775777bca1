import Glibc

/// Pictures on the disk under SDWebImage's names, so that an app, a server or another worker finds them ready.
///
/// Any number of processes may use one directory. A picture gets its name by a rename within the directory: under a real name
/// there is always a whole one, whatever dies when. All calls block; call them where that is allowed.
/// Source: SDWebImage 5.21.5, `SDDiskCache`; unlike there, nothing fails silently.
public struct DiskCache: Sendable {
    /// Where the files lie.
    public let layout: CacheLayout
    /// A random UUID that the cache root keeps: two processes with the same id share a cache.
    public let cacheID: String
    /// How much of a published file survives a power failure.
    public let durability: Durability
    /// Says that this process has the cache open, until its last copy goes.
    let presence: OpenMarker

    /// Read-only caches that answer where this one has nothing.
    private let additional: [CacheLayout]
    /// What new files and directories get.
    private let permissions: FilePermissions

    /// Opens the cache in `root`, or makes one: directories, the cache id, a try at writing.
    ///
    /// Deletes what dead processes left half-written, as far as it may. Another host's or container's temporary files are
    /// left alone until they are a day old.
    ///
    /// - Parameters:
    ///   - root: the cache root; missing directories are made.
    ///   - namespace: the directory in it, `default` by default.
    ///   - durability: `.data` by default.
    ///   - permissions: what new files and directories get: 0644 and 0755 less the umask by default.
    ///   - additional: caches that `read` looks into when this one has nothing, best first: SDWebImage's additional cache
    ///     path. They are never written to. None by default.
    /// - Throws: `StoreError` when that cannot be a cache, or not one to write to.
    public init(
        opening root: String, namespace: String = "default", durability: Durability = .data,
        permissions: FilePermissions = FilePermissions(), alsoReading additional: [CacheLayout] = []
    ) throws(StoreError) {
        layout = try CacheLayout(root: root, namespace: namespace)
        self.durability = durability
        self.permissions = permissions
        self.additional = additional
        try Directory.make(layout.directory, durable: durability == .full, permissions)
        Sweep(root: root, permissions: permissions).run(layout)
        presence = try OpenMarker(in: root, permissions)
        cacheID = try CacheID.readOrCreate(in: root, permissions)
        // Only a real try tells: access(2) does not know of read-only mounts seen as root, nor of quotas.
        _ = try TemporaryFile(in: layout.directory, permissions)
    }

    // MARK: - Reading

    /// Whether there is a picture for `key`, with or without the extension of its name. Does not count as an access, and does
    /// not look into the additional caches.
    public func contains(_ key: CacheKey) throws(StoreError) -> Bool {
        for path in layout.candidates(for: key) {
            var status = stat()
            if stat(path, &status) == 0 {
                if status.st_mode & S_IFMT == S_IFREG { return true }
            } else if errno != ENOENT {
                throw StoreError("stat", path)
            }
        }
        return false
    }

    /// Opens the picture for `key` and sets its access time to now; nil when there is none.
    ///
    /// Looks under the name without extension as well, where SDWebImage before 5.0 stored, and then into the additional
    /// caches: there access times stay, also when the file is read, as far as the process owns it (the kernel notes reads by
    /// others where it is mounted so). Files of both kinds have no extended data, which SDWebImage reads nowhere else than
    /// under the key's own name.
    ///
    /// - Throws: `StoreError`, but not because the access time may not be set.
    public func read(_ key: CacheKey) throws(StoreError) -> OpenFile? {
        presence.refresh()
        let candidates = layout.candidates(for: key)
        for path in candidates {
            guard let file = try OpenFile(ifPresent: path, hasExtendedData: path == candidates.first) else { continue }
            try file.touch()
            return file
        }
        for other in additional {
            if let file = try OpenFile(peekingAt: other.path(of: key), hasExtendedData: false) { return file }
        }
        return nil
    }

    // MARK: - Writing

    /// A new file to write a picture into, to be published, or dropped.
    ///
    /// - Throws: `StoreError`. A directory that somebody deleted is made again.
    public func makeTemporaryFile() throws(StoreError) -> TemporaryFile {
        presence.refresh()
        do throws(StoreError) {
            return try TemporaryFile(in: layout.directory, permissions)
        } catch {
            guard error.code == .missing else { throw error }
            try Directory.make(layout.directory, durable: durability == .full, permissions)
            return try TemporaryFile(in: layout.directory, permissions)
        }
    }

    /// Makes `file` the picture of `key`, in one step, in place of an earlier one: `finish`, then `name`.
    ///
    /// - Parameters:
    ///   - file: written completely; a second `publish` of it fails with `missing`.
    ///   - extendedData: as `finish` takes it.
    /// - Throws: `StoreError`; then there is no new file under the key's name, or (`fsync` of the directory failed) a whole one.
    public func publish(
        _ file: TemporaryFile, as key: CacheKey, extendedData: [UInt8]? = nil
    ) throws(StoreError) {
        try finish(file, extendedData: extendedData)
        try name(file, as: key)
    }

    /// Brings `file` to the disk as the durability asks: the slow half of a publication, which nobody sees.
    ///
    /// - Parameter extendedData: what SDWebImage reads back with the picture (a keyed archive), kept as an extended
    ///   attribute where the file system has such.
    public func finish(_ file: TemporaryFile, extendedData: [UInt8]? = nil) throws(StoreError) {
        if let extendedData { try file.setAttribute(extendedDataAttribute, extendedData) }
        try file.synchronize(durability)
    }

    /// Gives a finished file its name: the moment at which everybody sees it.
    public func name(_ file: TemporaryFile, as key: CacheKey) throws(StoreError) {
        try name(file, asFile: key.fileName)
    }

    /// The same for who knows the file's name already.
    func name(_ file: TemporaryFile, asFile name: String) throws(StoreError) {
        try file.rename(to: layout.directory + "/" + name)
        if durability == .full { try Directory.synchronize(layout.directory) }
    }

    /// Deletes the picture of `key`, also (unlike SDWebImage) the one without extension, which would go on answering.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func remove(_ key: CacheKey) throws(StoreError) -> Bool {
        var removed = false
        for path in layout.candidates(for: key) {
            if unlink(path) == 0 {
                removed = true
            } else if errno != ENOENT {
                throw StoreError("unlink", path)
            }
        }
        return removed
    }
}
