private import ImageModel

/// Stores images by file name, for example in a directory or an object store.
///
/// Storing takes three steps: `begin` creates a temporary file, the caller or a child process writes to its descriptor,
/// and `commit` makes it visible atomically. The temporary file is always local: a store on another host uploads it in
/// `commit`.
///
/// Stores work with file names; `naming` derives them from cache keys. All functions block.
public protocol ImageStore: Sendable {
    /// Derives file names from cache keys.
    var naming: any CacheNaming { get }
    /// The directory of the images, relative to the cache root: `default`.
    var directory: String { get }
    /// Whether to search images also under the names of earlier versions; true by default.
    var searchesEarlierNames: Bool { get }
    /// Whether files keep extended attributes and open without a transfer; true by default.
    var keepsAttributes: Bool { get }
    /// Read-only stores that `open` searches, in order, for missing images.
    var fallbacks: [any ImageStore] { get }
    /// A random UUID stored with the images: processes that read the same id use the same cache.
    var cacheID: String { get throws(StoreError) }

    /// Creates a temporary file, deleted with its last reference unless committed.
    func begin() throws(StoreError) -> TemporaryFile

    /// Makes a completely written file visible as `name`, replacing an earlier one.
    ///
    /// - Parameters:
    ///   - file: from `begin()`.
    ///   - name: its path below the cache's root.
    ///   - isPermitted: called once the bytes are durable, immediately before the file becomes visible. A worker that
    ///     has lost its lease returns false, and nothing is published.
    /// - Returns: what `isPermitted` returned.
    /// - Throws: `StoreError`, `missing` for an already committed file. The name then has its earlier file, or the new
    ///   one if only the directory's sync failed.
    func commit(_ file: TemporaryFile, named name: String, if isPermitted: () -> Bool) throws(StoreError) -> Bool

    /// Opens a file and sets its access time to now; nil if it does not exist.
    func open(named name: String) throws(StoreError) -> OpenFile?

    /// Opens a file without changing its access time; nil if it does not exist.
    func peek(named name: String) throws(StoreError) -> OpenFile?

    /// A file's size in bytes; nil if it does not exist. A store on another host does not transfer the file.
    ///
    /// - Parameters:
    ///   - name: its path below the cache's root.
    ///   - isUse: whether to set its access time to now.
    func size(named name: String, isUse: Bool) throws(StoreError) -> Int?

    /// A file's SHA-256, 64 hexadecimal digits, as recorded by the store, else of its bytes; nil if it does not exist.
    func digest(named name: String) throws(StoreError) -> String?

    /// Deletes a file and returns whether it existed.
    func remove(named name: String) throws(StoreError) -> Bool

    /// Calls `body` with every file, in no order, until it returns false.
    ///
    /// - Parameters:
    ///   - hidden: whether to include hidden files and directories, in stores that have them.
    ///   - body: false ends the list.
    /// - Throws: `StoreError`, `missing` if the cache does not exist; what `body` throws.
    func list(hidden: Bool, _ body: (CacheEntry) throws(StoreError) -> Bool) throws(StoreError)

    /// The number of files, without reading their attributes.
    func count() throws(StoreError) -> Int

    /// Deletes every image; files being written remain.
    ///
    /// - Parameters:
    ///   - isDryRun: deletes nothing.
    ///   - deleted: called for each deleted file.
    func clear(isDryRun: Bool, deleted: (CacheEntry) -> Void) throws(StoreError)

    /// Deletes the files that `policy` selects.
    ///
    /// - Parameters:
    ///   - policy: maximum age and size.
    ///   - now: the reference time for ages.
    ///   - isDryRun: deletes nothing.
    ///   - deleted: called for each deleted file.
    ///   - progress: called after each file; false stops the run, and the next one continues.
    /// - Throws: `StoreError`, `busy` while another process expires this cache. Files that cannot be deleted are
    ///   counted in the report.
    func expire(
        _ policy: ExpiryPolicy, now: Timestamp, isDryRun: Bool, deleted: (ExpiredFile) -> Void,
        progress: (ExpiryReport) -> Bool
    ) throws(StoreError) -> ExpiryReport
}

extension ImageStore {
    /// True.
    public var searchesEarlierNames: Bool { true }

    /// True.
    public var keepsAttributes: Bool { true }

    /// No fallbacks.
    public var fallbacks: [any ImageStore] { [] }

    private func names(of key: CacheKey) -> [String] {
        searchesEarlierNames ? naming.fileNames(of: key) : [naming.fileName(of: key)]
    }

    /// The size of the opened file.
    public func size(named name: String, isUse: Bool) throws(StoreError) -> Int? {
        try isUse ? open(named: name)?.size : peek(named: name)?.size
    }

    /// The digest of the opened file.
    public func digest(named name: String) throws(StoreError) -> String? {
        guard let file = try peek(named: name) else { return nil }
        guard let digest = SHA256Digest.hex(ofFile: file.descriptor) else { throw StoreError("pread", file.path) }
        return digest
    }

    /// The path of the key's file, relative to the cache root: `default/dff8cd3202a7f9a9529a….png`.
    public func relativePath(of key: CacheKey) -> String { directory + "/" + naming.fileName(of: key) }

    /// Whether the store itself has an image for `key`. Keeps access times.
    public func contains(_ key: CacheKey) throws(StoreError) -> Bool {
        guard !naming.mayShareNames else { return try checked(peek(named: naming.fileName(of: key)), key) != nil }
        for name in names(of: key) where try size(named: name, isUse: false) != nil { return true }
        return false
    }

    /// Opens the image for `key` and sets its access time to now; nil if neither the store nor a fallback has it.
    ///
    /// Access times in fallbacks do not change if this process owns the files or is root.
    ///
    /// - Throws: `StoreError`, `nameTaken` if the file has another key.
    public func open(_ key: CacheKey) throws(StoreError) -> OpenFile? {
        for name in names(of: key) {
            if let file = try checked(open(named: name), key) { return file }
        }
        for fallback in fallbacks {
            let file = try fallback.peek(named: fallback.naming.fileName(of: key))
            if let file = try fallback.checked(file, key) { return file }
        }
        return nil
    }

    /// Opens the store's own image for `key` without changing its access time; nil if there is none, or the file of its
    /// name has another key or none recorded.
    package func peek(_ key: CacheKey) throws(StoreError) -> OpenFile? {
        let file = try peek(named: naming.fileName(of: key))
        do throws(StoreError) { return try checked(file, key) } catch {
            guard error.code == .nameTaken else { throw error }
            return nil
        }
    }

    /// Returns `file` after comparing its key, if another key can have its name.
    private func checked(_ file: OpenFile?, _ key: CacheKey) throws(StoreError) -> OpenFile? {
        if naming.mayShareNames { try file?.check(isOf: key) }
        return file
    }

    /// The size of the image for `key` in bytes, setting its access time to now; nil if neither the store nor a
    /// fallback has it.
    public func use(_ key: CacheKey) throws(StoreError) -> Int? {
        guard !naming.mayShareNames else { return try open(key)?.size }
        for name in names(of: key) {
            if let size = try size(named: name, isUse: true) { return size }
        }
        for fallback in fallbacks {
            if let size = try fallback.size(named: fallback.naming.fileName(of: key), isUse: false) { return size }
        }
        return nil
    }

    /// Makes a completely written file the image of `key`; see `commit(_:named:if:)`.
    @discardableResult
    public func commit(
        _ file: TemporaryFile, as key: CacheKey, if isPermitted: () -> Bool = { true }
    ) throws(StoreError) -> Bool {
        if naming.mayShareNames { try file.setAttribute(keyAttribute, KeyRecord.bytes(of: key)) }
        return try commit(file, named: naming.fileName(of: key), if: isPermitted)
    }

    /// Stores `bytes` as the image of `key`.
    public func store(_ bytes: [UInt8], as key: CacheKey) throws(StoreError) {
        let file = try begin()
        try bytes.withBytes { (bytes) throws(StoreError) in try file.write(bytes) }
        try commit(file, as: key)
    }

    /// Deletes the image of `key`, also under earlier versions' names, and returns whether there was one.
    @discardableResult
    public func remove(_ key: CacheKey) throws(StoreError) -> Bool {
        if naming.mayShareNames { _ = try contains(key) }
        var isRemoved = false
        for name in names(of: key) where try remove(named: name) { isRemoved = true }
        return isRemoved
    }

    /// Deletes the image of `key`, also under earlier versions' names. Files with another key or none recorded stay.
    ///
    /// - Parameter isDryRun: deletes nothing.
    /// - Returns: the files' sizes in bytes; empty if there is none.
    package func remove(_ key: CacheKey, isDryRun: Bool) throws(StoreError) -> [Int] {
        if naming.mayShareNames, try peek(key) == nil { return [] }
        var sizes: [Int] = []
        for name in names(of: key) {
            guard let size = try size(named: name, isUse: false) else { continue }
            let isRemoved = isDryRun ? true : try remove(named: name)
            if isRemoved { sizes.append(size) }
        }
        return sizes
    }

    /// The extended data committed with the image of `key`; nil if there is none, the file system keeps none, or the
    /// image has an earlier version's name, as in SDWebImage 5.21.5, `SDDiskCache.extendedDataForKey:`.
    public func extendedData(for key: CacheKey) throws(StoreError) -> [UInt8]? {
        try peek(named: naming.fileName(of: key))?.attribute(extendedDataAttribute)
    }
}
