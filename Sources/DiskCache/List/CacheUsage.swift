/// The number and size of a cache's files.
///
/// `bytes` and `entries` are the total size and total count of SDWebImage 5.21.5, `SDDiskCache`.
package struct CacheUsage: Hashable, Sendable {
    /// The number of visible files.
    package var files = 0
    /// The number of files and directories, hidden ones included.
    package var entries = 0
    /// The total size of all files, hidden ones included.
    package var bytes = 0
    /// The bytes that all files occupy; a file with several hard links counts once for each.
    package var allocated = 0
    /// The earliest access time of a visible file; nil when there is none.
    package var oldestAccess: Timestamp?

    /// Zero.
    package init() {}

    /// Counts a whole cache. Blocks.
    ///
    /// - Throws: `StoreError`, `missing` when the cache does not exist.
    package init(of store: any ImageStore) throws(StoreError) {
        try store.list(hidden: true) { (entry) throws(StoreError) in
            add(entry)
            return true
        }
    }

    /// Adds one entry.
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
