import Glibc

/// A cache root's random id in a hidden file, so that it is the same wherever the root is mounted.
package enum CacheID {
    package static let fileName = ".larder-cache-id"

    /// Reads the id of the cache in `root`, or creates one.
    ///
    /// Concurrent processes get the same id: the complete file is linked into place, and the first link wins. Without
    /// hard links the last rename wins, and an earlier process keeps another id until it ends.
    static func readOrCreate(in root: String, _ permissions: FilePermissions) throws(StoreError) -> String {
        let path = root + "/" + fileName
        if let id = try read(path) { return id }
        let draft = try TemporaryFile(in: root, permissions)
        let id = GLibText.randomUUID()
        try Array((id + "\n").utf8).withBytes { (bytes) throws(StoreError) in try draft.write(bytes) }
        try draft.synchronize(.data)
        // link(2) keeps an existing file, rename(2) would replace it.
        if link(draft.path, path) == 0 {
            // Network file systems may report no link for a file that has one: `draft` must not truncate the id.
            unlink(draft.path)
            return id
        }
        switch errno {
        case EEXIST: break
        // Errors of FUSE, SMB and FAT file systems without hard links.
        case EPERM, EOPNOTSUPP, ENOSYS: if try read(path) == nil { try draft.rename(to: path) }
        default: throw StoreError("link", path)
        }
        guard let id = try read(path) else { throw StoreError("open", path, number: ENOENT) }
        return id
    }

    /// The id of the cache in `root`; nil if there is none. Creates nothing.
    ///
    /// - Throws: `StoreError`, `.damaged` for an invalid file or a link in its place.
    package static func existing(in root: String) throws(StoreError) -> String? { try read(root + "/" + fileName) }

    private static func read(_ path: String) throws(StoreError) -> String? {
        guard let file = try Descriptor(ifPresent: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) else { return nil }
        let text = String(decoding: try file.read(64, at: 0, from: path), as: UTF8.self)
        guard let id = parse(text) else { throw StoreError(.damaged, "parse the cache id in", path) }
        return id
    }

    /// The id in the file's text; nil if invalid.
    package static func parse(_ text: String) -> String? {
        guard text.utf8.count == 37, text.hasSuffix("\n"), text.dropLast().allSatisfy({ $0.isHexDigit || $0 == "-" })
        else { return nil }
        return String(text.dropLast())
    }

    package static func random() -> String { GLibText.randomUUID() }
}
