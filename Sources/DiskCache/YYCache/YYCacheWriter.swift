/// Writes the directory of a YYCache, as YYWebImage's `YYImageCache` reads it: small images in a database, others in
/// files. The directory appears when it is complete; `deinit` deletes it unless `finish` was called. Blocks.
///
/// Source: YYCache 1.0.4, `YYDiskCache` and `YYKVStorage`; YYWebImage 1.0.5, `YYImageCache`.
package struct YYCacheWriter: ~Copyable {
    /// Larger images are files; in bytes. `YYDiskCache.initWithPath:`.
    package static let inlineLimit = 20 * 1_024
    static let directories = ["data", "trash"]
    static let files = ["manifest.sqlite", "manifest.sqlite-journal"]

    private let directory: BundleDirectoryWriter
    private let manifest: YYCacheManifest
    private let date = Timestamp.now

    /// - Throws: `StoreError`, `exists` when `path` exists.
    package init(_ path: String) throws(StoreError) {
        let directory = try BundleDirectoryWriter(path, directory: Self.directories[0])
        try Directory.create(directory.path + "/" + Self.directories[1], durable: false, FilePermissions())
        let manifest = try YYCacheManifest(directory.path + "/" + Self.files[0])
        self.directory = directory
        self.manifest = manifest
    }

    /// Adds the bytes of `file` under `key`, which must be new.
    package func add(_ file: OpenFile, as key: CacheKey) throws(StoreError) {
        guard file.size > Self.inlineLimit else {
            let bytes = try file.bytes(file.size)
            return try manifest.add(key.text, file: "", size: bytes.count, inline: bytes, date: date)
        }
        let name = GLibText.md5(of: key.text.utf8)
        try directory.add("\(Self.directories[0])/\(name)", size: file.size, date: date) { (write) throws(StoreError) in
            try file.forEachBlock(write)
        }
        try manifest.add(key.text, file: name, size: file.size, inline: nil, date: date)
    }

    /// Commits the database and gives the directory its name.
    package func finish() throws(StoreError) {
        try manifest.finish()
        try directory.finish()
    }
}
