import Glibc

extension CacheLayout {
    /// Deletes every picture, and every visible directory in the cache's; a temporary file is its writer's. Blocks.
    ///
    /// Source: SDWebImage 5.21.5, `SDDiskCache.removeAllData`, which deletes the directory itself and makes it again.
    ///
    /// - Parameters:
    ///   - isDryRun: tells what would go and deletes nothing.
    ///   - deleted: told of every file that has gone, or would go.
    /// - Throws: `StoreError`, `missing` when there is no such cache.
    public func clear(isDryRun: Bool, deleted: (CacheEntry) -> Void = { _ in }) throws(StoreError) {
        var directories: [String] = []
        try visit(hidden: false) { (entry) throws(StoreError) in
            if entry.isDirectory {
                directories.append(directory + "/" + entry.path)
                return true
            }
            let path = directory + "/" + entry.path
            guard isDryRun || unlink(path) == 0 || errno == ENOENT else { throw StoreError("unlink", path) }
            deleted(entry)
            return true
        }
        guard !isDryRun else { return }
        // The deepest first; one that still holds something hidden stays.
        for path in directories.sorted(by: >) where rmdir(path) != 0 && ![ENOENT, ENOTEMPTY, EEXIST].contains(errno) {
            throw StoreError("rmdir", path)
        }
    }
}
