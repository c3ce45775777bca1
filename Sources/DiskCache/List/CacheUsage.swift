/// Number and size of a cache's files.
///
/// `bytes` and `entries` are the total size and total count of SDWebImage 5.21.5, `SDDiskCache`.
package struct CacheUsage: Hashable, Sendable {
    package var files = 0
    /// Files and directories, including hidden ones.
    package var entries = 0
    /// Size of all files, including hidden ones.
    package var bytes = 0
    /// Bytes that all files occupy; a file counts once per hard link.
    package var allocated = 0
    /// Earliest access time of a visible file; nil without one.
    package var oldestAccess: Timestamp?

    package init() {}

    /// Counts a whole cache. Blocks.
    ///
    /// - Throws: `StoreError`, `missing` if the cache does not exist.
    package init(of store: any ImageStore) throws(StoreError) {
        try store.list(hidden: true) { (entry) throws(StoreError) in
            add(entry)
            return true
        }
    }

    package mutating func add(_ entry: CacheEntry) {
        entries += 1
        guard !entry.isDirectory else { return }
        bytes += entry.size
        allocated += entry.allocated
        guard !entry.isHidden else { return }
        files += 1
        oldestAccess = min(oldestAccess ?? entry.accessed, entry.accessed)
    }
}
