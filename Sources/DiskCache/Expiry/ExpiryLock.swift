import Glibc

/// Held by the one process that expires a cache; released by `deinit` and when the process ends.
///
/// Concurrent runs would only repeat work, so file systems without locks are accepted.
struct ExpiryLock: ~Copyable {
    private let file: Descriptor

    /// - Throws: `StoreError`, `busy` while another process holds it.
    init(in root: String) throws(StoreError) {
        let file = try Self.open(root + "/.larder-expiry", in: root)
        try file.lock(to: "expire the cache in", root)
        self.file = file
    }

    private static func open(_ path: String, in root: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            guard let file = try Descriptor(ifPresent: path, O_RDWR | O_CREAT | O_NOFOLLOW) else {
                throw StoreError("open", root, number: ENOENT)
            }
            return file
        } catch {
            // A file of another user can be locked through a read-only descriptor.
            guard error.code == .permission, let file = try? Descriptor(opening: path, O_RDONLY | O_NOFOLLOW) else {
                throw error
            }
            return file
        }
    }

    consuming func release() {}
}
