/// What a cache holds, counted.
///
/// `bytes` and `entries` are SDWebImage's total size and total count; Source: SDWebImage 5.21.5, `SDDiskCache`.
public struct CacheUsage: Hashable, Sendable {
    /// Files without a hidden name.
    public var files = 0
    /// Everything that is there, hidden things and directories included.
    public var entries = 0
    /// The lengths of all files together, hidden ones included.
    public var bytes = 0
    /// What all files take on the disk, in bytes; what has several names counts with each.
    public var allocated = 0
    /// The earliest last read of a file without a hidden name; nil where there is none.
    public var oldestAccess: Timestamp?

    /// Nothing counted yet.
    public init() {}

    /// Counts a whole cache. Blocks.
    ///
    /// - Throws: `StoreError`, `missing` when there is none.
    public init(of layout: CacheLayout) throws(StoreError) {
        try layout.visit { (entry) throws(StoreError) in
            add(entry)
            return true
        }
    }

    /// Counts one more.
    public mutating func add(_ entry: CacheEntry) {
        entries += 1
        guard !entry.isDirectory else { return }
        bytes += entry.size
        allocated += entry.allocated
        guard !entry.isHidden else { return }
        files += 1
        oldestAccess = min(oldestAccess ?? entry.accessed, entry.accessed)
    }
}
