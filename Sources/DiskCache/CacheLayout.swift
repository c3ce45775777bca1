/// Where a cache keeps its files: pure text, nothing on the disk is looked at.
///
/// One flat directory, `root/namespace`, one file per key; everything else in it and in the root has a hidden name.
/// Source: SDWebImage 5.21.5, `SDImageCache` and `SDDiskCache`.
public struct CacheLayout: Hashable, Sendable {
    /// The cache root, as given.
    public let root: String
    /// The name of the directory in it.
    public let namespace: String

    /// - Parameter namespace: one component of a path; `default` is SDWebImage's shared cache.
    /// - Throws: `StoreError.invalidName` when `root` is empty, or `namespace` is not one component or is hidden.
    public init(root: String, namespace: String = "default") throws(StoreError) {
        guard !root.isEmpty, !root.utf8.contains(0) else {
            throw StoreError(.invalidName, "make a cache root of", root)
        }
        guard !namespace.isEmpty, !namespace.utf8.contains(0), !namespace.utf8.contains(UInt8(ascii: "/")),
            namespace.utf8.first != UInt8(ascii: ".")
        else { throw StoreError(.invalidName, "make a cache namespace of", namespace) }
        self.root = root
        self.namespace = namespace
    }

    /// The directory that holds the pictures.
    public var directory: String { root + "/" + namespace }

    /// The key's file relative to the root, for example `default/dff8cd3202a7f9a9529a….png`.
    public func relativePath(of key: CacheKey) -> String { namespace + "/" + key.fileName }

    /// The key's file.
    public func path(of key: CacheKey) -> String { directory + "/" + key.fileName }

    /// Where a picture with this key may lie, best first: SDWebImage before 5.0 gave its files no extension.
    func candidates(for key: CacheKey) -> [String] {
        let name = key.fileName
        let digest = Substring(name.utf8.prefix(32))
        return (name.utf8.count == 32 ? [name] : [name, String(digest)]).map { directory + "/" + $0 }
    }
}
