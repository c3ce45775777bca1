import Glibc

extension DirectoryStore {
    /// Calls `body` with every entry below the directory, in no order, until it returns false. Constant memory.
    public func list(
        hidden: Bool = false, _ body: (CacheEntry) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try DirectoryWalk(directory: layout.directory, includesHidden: hidden).visit { (entry) throws(StoreError) in
            if entry.isDirectory && !hidden { return true }
            return try body(entry)
        }
    }

    /// Visible names in the directory itself.
    public func count() throws(StoreError) -> Int {
        guard var names = try DirectoryStream(ifPresent: layout.directory, following: true) else {
            throw StoreError("open", layout.directory, number: ENOENT)
        }
        var count = 0
        while let isHidden = try names.next({ $0[0] == CChar(bitPattern: UInt8(ascii: ".")) }) {
            if !isHidden { count += 1 }
        }
        return count
    }

    /// Deletes every visible file and directory. SDWebImage 5.21.5, `SDDiskCache.removeAllData`, deletes and recreates
    /// the directory instead.
    ///
    /// - Throws: `StoreError`; `notADirectory` if the directory is a symbolic link; `invalidName`, after deleting
    ///   everything else, for a name that is not UTF-8.
    public func clear(isDryRun: Bool = false, deleted: (CacheEntry) -> Void = { _ in }) throws(StoreError) {
        var directories: [String] = []
        var unnamed: StoreError?
        let held = try HeldDirectory(of: layout)
        let walk = DirectoryWalk(directory: layout.directory, includesHidden: false, followsLink: false)
        try walk.visit { (entry) throws(StoreError) in
            if !entry.isPathExact {
                unnamed = unnamed ?? StoreError(.invalidName, "delete", layout.path(named: entry.path))
            } else if entry.isDirectory {
                directories.append(entry.path)
            } else {
                if !isDryRun { try held.unlink(entry.path) }
                deleted(entry)
            }
            return true
        }
        // Subdirectories before their parents. A directory with a hidden file remains.
        for path in isDryRun ? [] : directories.sorted(by: >) { try held.rmdir(path) }
        if let unnamed { throw unnamed }
    }
}
