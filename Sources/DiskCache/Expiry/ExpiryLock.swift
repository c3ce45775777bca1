import Glibc

/// Lets one process at a time expire a cache; released with its owner, or when that dies.
///
/// Two at once would do no harm, only work twice: a file system without locks is none the worse.
struct ExpiryLock: ~Copyable {
    private let file: Descriptor

    /// - Throws: `StoreError`, `busy` when another process has it.
    init(in root: String) throws(StoreError) {
        let path = root + "/.larder-expiry"
        guard let file = try Descriptor(ifPresent: path, O_RDWR | O_CREAT) else {
            throw StoreError("open", root, number: ENOENT)
        }
        if retrying({ flock(file.number, LOCK_EX | LOCK_NB) }) != 0 && errno == EWOULDBLOCK {
            throw StoreError(.busy, "expire the cache in", root)
        }
        self.file = file
    }

    /// Lets others.
    consuming func release() {}
}
