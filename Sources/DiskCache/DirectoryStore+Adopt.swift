import Glibc

extension DirectoryStore {
    /// How many files `adopt` moved and left.
    public struct Adoption: Hashable, Sendable {
        /// Moved to this cache.
        public var moved = 0
        /// Left, because this cache has a file of that name.
        public var left = 0
    }

    /// Moves the files of a cache of SDWebImage before 5.0, for example
    /// `default/com.hackemist.SDWebImageCache.default`, into this one under their old names, where `open` finds them.
    ///
    /// Existing files are kept. The old directory is deleted once it is empty; SDWebImage deletes it in any case. The
    /// call can be repeated after a crash.
    ///
    /// - Parameter directory: on the same file system.
    /// - Throws: `StoreError`, `missing` when there is no such directory.
    public func adopt(_ directory: String) throws(StoreError) -> Adoption {
        var adoption = Adoption()
        try DirectoryWalk(directory: directory, includesHidden: false).visit { (entry) throws(StoreError) in
            guard !entry.isDirectory, !entry.path.utf8.contains(UInt8(ascii: "/")) else { return true }
            let old = directory + "/" + entry.path
            // link(2) keeps an existing file, rename(2) would replace it.
            if link(old, layout.path(named: entry.path)) == 0 {
                guard unlink(old) == 0 || errno == ENOENT else { throw StoreError("unlink", old) }
                adoption.moved += 1
            } else if errno == EEXIST {
                adoption.left += 1
            } else {
                throw StoreError("link", old)
            }
            return true
        }
        guard rmdir(directory) == 0 || errno == ENOTEMPTY || errno == EEXIST else {
            throw StoreError("rmdir", directory)
        }
        return adoption
    }
}
