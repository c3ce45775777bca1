import Glibc

extension CacheLayout {
    /// Deletes every picture, and every visible directory in the cache's; a temporary file is its writer's. Blocks.
    ///
    /// Source: SDWebImage 5.21.5, `SDDiskCache.removeAllData`, which deletes the directory itself and makes it again.
    ///
    /// - Parameters:
    ///   - isDryRun: tells what would go and deletes nothing.
    ///   - deleted: told of every file that has gone, or would go.
    /// - Throws: `StoreError`, `missing` when there is no such cache; `invalidName`, after everything else has gone, when there
    ///   is something whose name is no UTF-8: it is none of a cache's, and stays.
    public func clear(isDryRun: Bool, deleted: (CacheEntry) -> Void = { _ in }) throws(StoreError) {
        var directories: [String] = []
        var foreign: StoreError?
        try visit(hidden: false) { (entry) throws(StoreError) in
            guard entry.isNamedWhole else {
                foreign = foreign ?? StoreError(.invalidName, "delete", directory + "/" + entry.path)
                return true
            }
            if entry.isDirectory {
                directories.append(directory + "/" + entry.path)
                return true
            }
            let path = directory + "/" + entry.path
            guard isDryRun || unlink(path) == 0 || errno == ENOENT else { throw StoreError("unlink", path) }
            deleted(entry)
            return true
        }
        // The deepest first; one that still holds something hidden stays.
        for path in isDryRun ? [] : directories.sorted(by: >)
        where rmdir(path) != 0 && ![ENOENT, ENOTEMPTY, EEXIST].contains(errno) {
            throw StoreError("rmdir", path)
        }
        if let foreign { throw foreign }
    }
}
