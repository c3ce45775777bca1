import Glibc

/// The random name by which a cache root is known wherever it is mounted, kept in a hidden file in it.
enum CacheID {
    /// Reads the id of the cache in `root`, which must exist, or gives it one.
    ///
    /// Two processes that do so at once agree: the file gets its name with all its bytes, and the first one wins; where the
    /// file system has no hard links the last one does, and what an earlier one was told is good for its run alone.
    static func readOrCreate(in root: String, _ permissions: FilePermissions) throws(StoreError) -> String {
        let path = root + "/.larder-cache-id"
        if let id = try read(path) { return id }
        let draft = try TemporaryFile(in: root, permissions)
        let text = GLibText.randomUUID().string
        var line = text + "\n"
        let result = line.withUTF8 { bytes in Result { () throws(StoreError) in try draft.write(.init(bytes)) } }
        try result.get()
        try draft.synchronize(.data)
        // Unlike rename, link leaves alone what is there.
        if link(draft.path, path) == 0 { return text }
        switch errno {
        case EEXIST: break
        // FUSE, SMB and FAT file systems without hard links say one of these. An id that came meanwhile stays.
        case EPERM, EOPNOTSUPP, ENOSYS: if try read(path) == nil { try draft.rename(to: path) }
        default: throw StoreError("link", path)
        }
        guard let id = try read(path) else { throw StoreError("open", path, number: ENOENT) }
        return id
    }

    private static func read(_ path: String) throws(StoreError) -> String? {
        guard let file = try Descriptor(ifPresent: path, O_RDONLY | O_NONBLOCK) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 64)
        let length = Int(retrying { Int32(Glibc.read(file.number, &bytes, 64)) })
        guard length >= 0 else { throw StoreError("read", path) }
        let text = String(decoding: bytes.prefix(length), as: UTF8.self)
        guard length == 37, text.hasSuffix("\n"), text.dropLast().allSatisfy({ $0.isHexDigit || $0 == "-" }) else {
            throw StoreError(.damaged, "understand the cache id in", path)
        }
        return String(text.dropLast())
    }
}
