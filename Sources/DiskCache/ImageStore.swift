private import ImageModel

/// Keeps images by file name, for example in a directory or in an object store.
///
/// Storing takes three steps: `begin` creates a temporary file, the caller or a child process writes to its descriptor,
/// and `commit` makes it visible under its name in one step. `begin` always returns an open local file: a store on
/// another host stages it in a local temporary directory and uploads it in `commit`.
///
/// A store works with file names; `naming` derives them from cache keys. All functions block.
public protocol ImageStore: Sendable {
    /// Derives file names from cache keys.
    var naming: any CacheNaming { get }
    /// The directory of the images, relative to the cache root: `default`.
    var directory: String { get }
    /// Whether an image is also searched under the names that earlier versions gave it; true by default.
    var searchesEarlierNames: Bool { get }
    /// Whether files keep extended attributes and can be opened without a transfer; true by default.
    var keepsAttributes: Bool { get }
    /// Read-only stores that `open` searches, in order, for an image that this store does not have.
    var fallbacks: [any ImageStore] { get }
    /// A random UUID kept with the images: two processes that read the same id use the same cache.
    var cacheID: String { get throws(StoreError) }

    /// Creates a temporary file. It is deleted with its last reference unless it is committed.
    func begin() throws(StoreError) -> TemporaryFile

    /// Makes a completely written file visible as `name`, in place of an earlier one.
    ///
    /// - Parameters:
    ///   - file: one of `begin()`.
    ///   - name: its path below the cache's root.
    ///   - isPermitted: called once the bytes are durable, directly before the file becomes visible. A worker that has
    ///     lost its lease returns false here, and nothing is published.
    /// - Returns: what `isPermitted` returned.
    /// - Throws: `StoreError`, `missing` for a file that was committed before. The name then has its earlier file, or,
    ///   when only the sync of the directory failed, the new one.
    func commit(_ file: TemporaryFile, named name: String, if isPermitted: () -> Bool) throws(StoreError) -> Bool

    /// Opens a file and sets its access time to now; nil when it does not exist.
    func open(named name: String) throws(StoreError) -> OpenFile?

    /// Opens a file without changing its access time; nil when it does not exist.
    func peek(named name: String) throws(StoreError) -> OpenFile?

    /// The size of a file in bytes; nil when it does not exist. A store on another host does not transfer the file.
    ///
    /// - Parameters:
    ///   - name: its path below the cache's root.
    ///   - isUse: whether its access time is set to now.
    func size(named name: String, isUse: Bool) throws(StoreError) -> Int?

    /// SHA-256 of a file, 64 hexadecimal digits, as the store recorded it, else of its bytes; nil when it does not exist.
    func digest(named name: String) throws(StoreError) -> String?

    /// Deletes a file and returns whether it existed.
    func remove(named name: String) throws(StoreError) -> Bool

    /// Calls `body` with every file, in no order, until it returns false.
    ///
    /// - Parameters:
    ///   - hidden: whether hidden files and directories are included, in stores that have them.
    ///   - body: returns whether the list goes on.
    /// - Throws: `StoreError`, `missing` when the cache does not exist; what `body` throws.
    func list(hidden: Bool, _ body: (CacheEntry) throws(StoreError) -> Bool) throws(StoreError)

    /// The number of files, without reading their attributes.
    func count() throws(StoreError) -> Int

    /// Deletes every image; files being written remain.
    ///
    /// - Parameters:
    ///   - isDryRun: deletes nothing.
    ///   - deleted: called for each file that was, or would be, deleted.
    func clear(isDryRun: Bool, deleted: (CacheEntry) -> Void) throws(StoreError)

    /// Deletes the files that `policy` selects.
    ///
    /// - Parameters:
    ///   - policy: the maximum age and size.
    ///   - now: the time from which ages are counted.
    ///   - isDryRun: deletes nothing.
    ///   - deleted: called for each file that was, or would be, deleted.
    ///   - progress: called after each file; returning false stops the run, and the next one continues.
    /// - Throws: `StoreError`, `busy` while another process expires this cache. A file that cannot be deleted is
    ///   counted in the report instead.
    func expire(
        _ policy: ExpiryPolicy, now: Timestamp, isDryRun: Bool, deleted: (ExpiredFile) -> Void,
        progress: (ExpiryReport) -> Bool
    ) throws(StoreError) -> ExpiryReport
}

extension ImageStore {
    /// Yes.
    public var searchesEarlierNames: Bool { true }

    /// Yes.
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

    /// Whether the store itself has an image for `key`. Does not change access times.
    public func contains(_ key: CacheKey) throws(StoreError) -> Bool {
        guard !naming.mayShareNames else { return try checked(peek(named: naming.fileName(of: key)), key) != nil }
        for name in names(of: key) where try size(named: name, isUse: false) != nil { return true }
        return false
    }

    /// Opens the image for `key` and sets its access time to now; nil when neither the store nor a fallback has it.
    ///
    /// Access times in fallbacks do not change where this process owns the files or is root.
    ///
    /// - Throws: `StoreError`, `nameTaken` when the file has another key.
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

    /// Opens the store's own image for `key` without changing its access time; nil when there is none, also when the
    /// file of its name is another key's or has no record of a key.
    package func peek(_ key: CacheKey) throws(StoreError) -> OpenFile? {
        let file = try peek(named: naming.fileName(of: key))
        do throws(StoreError) { return try checked(file, key) } catch {
            guard error.code == .nameTaken else { throw error }
            return nil
        }
    }

    /// `file`, after its key is compared where another key can have its name.
    private func checked(_ file: OpenFile?, _ key: CacheKey) throws(StoreError) -> OpenFile? {
        if naming.mayShareNames { try file?.check(isOf: key) }
        return file
    }

    /// The size of the image for `key` in bytes, whose access time is set to now; nil when neither the store nor a
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

    /// Makes a completely written file the image of `key`; `commit(_:named:if:)` has the details.
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

    /// Deletes the image of `key`, also under names of earlier versions, and returns whether there was one.
    @discardableResult
    public func remove(_ key: CacheKey) throws(StoreError) -> Bool {
        if naming.mayShareNames { _ = try contains(key) }
        var isRemoved = false
        for name in names(of: key) where try remove(named: name) { isRemoved = true }
        return isRemoved
    }

    /// Deletes the image of `key`, also under names of earlier versions. A file that is another key's or has no record
    /// of a key stays.
    ///
    /// - Parameter isDryRun: deletes nothing.
    /// - Returns: the sizes of the files in bytes; empty when there is none.
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

    /// The extended data committed with the image of `key`; nil when there is none, the file system keeps none, or the
    /// image has a name of an earlier version, as in SDWebImage 5.21.5, `SDDiskCache.extendedDataForKey:`.
    public func extendedData(for key: CacheKey) throws(StoreError) -> [UInt8]? {
        try peek(named: naming.fileName(of: key))?.attribute(extendedDataAttribute)
    }
}
