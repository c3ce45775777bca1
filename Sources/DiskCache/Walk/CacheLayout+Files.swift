import Glibc

/// The files that are there.
extension CacheLayout {
    /// Hands everything in the cache's directory to `body`, until that answers false: in no order, one look at each, nothing
    /// kept. Blocks.
    ///
    /// - Parameter hidden: whether hidden entries, temporary files among them, are met; they are by default.
    /// - Throws: `StoreError`, `missing` when there is no such cache; what `body` throws.
    public func visit(
        hidden: Bool = true, _ body: (CacheEntry) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try DirectoryWalk(directory: directory, meetsHidden: hidden).visit(body)
    }

    /// How many things without a hidden name lie in the directory itself: names are counted, nothing is looked at. Blocks.
    ///
    /// - Throws: `StoreError`, `missing` when there is no such cache.
    public func countNames() throws(StoreError) -> Int {
        guard var stream = try DirectoryStream(ifPresent: directory, following: true) else {
            throw StoreError("open", directory, number: ENOENT)
        }
        var count = 0
        while let isHidden = try stream.next({ $0[0] == CChar(bitPattern: UInt8(ascii: ".")) }) {
            if !isHidden { count += 1 }
        }
        return count
    }

    /// Opens a file of the cache by its name below the directory, to look at it: that does not count as an access where the
    /// process owns the file. Nil when it is not there, or no regular file.
    public func peek(_ name: String) throws(StoreError) -> OpenFile? {
        try OpenFile(peekingAt: directory + "/" + name)
    }

    /// Deletes a file by its name below the directory; one that is not there is fine.
    public func removeFile(named name: String) throws(StoreError) {
        let path = directory + "/" + name
        guard unlink(path) == 0 || errno == ENOENT else { throw StoreError("unlink", path) }
    }

    /// The name of a bundle's manifest, which lies in the root.
    public static let manifestName = "manifest.jsonl"

    /// The manifest in the root, where there is one.
    public var ownManifest: String? {
        let path = root + "/" + CacheLayout.manifestName
        return access(path, F_OK) == 0 ? path : nil
    }
}
