import Glibc

/// Lets one process at a time expire a cache; released with its owner, or when that dies.
///
/// Two at once would do no harm, only work twice: a file system without locks is none the worse.
struct ExpiryLock: ~Copyable {
    private let file: Descriptor

    /// - Throws: `StoreError`, `busy` when another process has it.
    init(in root: String) throws(StoreError) {
        let file = try Self.open(root + "/.larder-expiry", in: root)
        let number = file.number
        if retrying({ flock(number, LOCK_EX | LOCK_NB) }) != 0 && errno == EWOULDBLOCK {
            throw StoreError(.busy, "expire the cache in", root)
        }
        self.file = file
    }

    private static func open(_ path: String, in root: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            guard let file = try Descriptor(ifPresent: path, O_RDWR | O_CREAT) else {
                throw StoreError("open", root, number: ENOENT)
            }
            return file
        } catch {
            // Another user's: to lock it, reading is enough.
            guard error.code == .permission, let file = try? Descriptor(opening: path, O_RDONLY) else { throw error }
            return file
        }
    }

    /// Lets others.
    consuming func release() {}
}
