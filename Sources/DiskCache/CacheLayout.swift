/// Paths of a cache in a directory. Accesses no file.
///
/// Images are in one flat directory; everything else in it and in the root has a hidden name.
package struct CacheLayout: Sendable {
    /// As given.
    package let root: String
    /// Distinguishes several caches in one root; with SDWebImage's naming the directory's name.
    package let namespace: String
    /// Derives file names from cache keys.
    package let naming: any CacheNaming

    /// - Parameters:
    ///   - namespace: one visible path component; `default`, the default, is SDWebImage's shared cache.
    ///   - naming: SDWebImage's by default.
    /// - Throws: `StoreError.invalidName` if `root` is empty, or `namespace` is hidden or not a single component.
    package init(
        root: String, namespace: String = "default", naming: any CacheNaming = .sdWebImage
    ) throws(StoreError) {
        guard !root.isEmpty, !root.utf8.contains(0) else {
            throw StoreError(.invalidName, "use as a cache root", root)
        }
        guard namespace.isVisibleFileName else { throw StoreError(.invalidName, "use as a cache namespace", namespace) }
        self.root = root
        self.namespace = namespace
        self.naming = naming
    }

    /// The directory of the images.
    package var directory: String { root + "/" + naming.directory(of: namespace) }

    package func path(of key: CacheKey) -> String { path(named: naming.fileName(of: key)) }

    func path(named name: String) -> String { directory + "/" + name }
}

extension String {
    /// Whether the text is one path component that does not begin with a dot.
    var isVisibleFileName: Bool {
        !isEmpty && !utf8.contains(0) && !utf8.contains(UInt8(ascii: "/")) && utf8.first != UInt8(ascii: ".")
    }
}
