import Glibc

extension DiskCache {
    /// What became of the files of an old directory.
    public struct Adoption: Hashable, Sendable {
        /// Now in this cache.
        public var moved = 0
        /// Left where they were, because this cache has a file of that name.
        public var left = 0
    }

    /// Takes over the files of a cache as SDWebImage before 5.0 left it, for example `default/com.hackemist.SDWebImageCache.default`.
    ///
    /// Each file is moved under its old name, where `read` finds it; what this cache has already is kept. The old directory
    /// is removed when nothing is left in it: unlike SDWebImage, which deletes the rest. Safe to repeat after a crash.
    ///
    /// - Parameter directory: on the same file system.
    /// - Throws: `StoreError`, `missing` when there is no such directory.
    public func adopt(_ directory: String) throws(StoreError) -> Adoption {
        var adoption = Adoption()
        try DirectoryWalk(directory: directory, meetsHidden: false).visit { (entry) throws(StoreError) in
            guard !entry.isDirectory, !entry.path.utf8.contains(UInt8(ascii: "/")) else { return true }
            let old = directory + "/" + entry.path
            // Unlike rename, link leaves alone what is there.
            if link(old, layout.directory + "/" + entry.path) == 0 {
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
