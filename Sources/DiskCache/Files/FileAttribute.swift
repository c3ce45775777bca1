private import CLinux
import Glibc

/// SDWebImage's attribute; Linux requires the prefix `user.`.
package let extendedDataAttribute = "com.hackemist.SDDiskCache"

extension OpenFile {
    /// The extended attribute `user.NAME`; nil if there is none or the file system has no attributes.
    package func attribute(_ name: String) throws(StoreError) -> [UInt8]? {
        if let data = readAttribute(name, of: descriptor) { return data }
        if errno == ENODATA || errno == ENOTSUP { return nil }
        throw StoreError("fgetxattr", path)
    }

    /// Sets the extended attribute `user.NAME` of a stored file; ignores failures.
    package func setAttribute(_ name: String, _ value: [UInt8]) {
        _ = larder_set_attribute(descriptor, "user." + name, value, value.count)
    }
}

extension TemporaryFile {
    /// Sets the data that `extendedData(for:)` returns after the commit; SDWebImage stores a keyed archive in it.
    ///
    /// File systems without attributes drop it.
    ///
    /// - Throws: `StoreError`, `tooLarge` above the file system's limit; ext4 has 4 kB for all attributes of a file.
    public func setExtendedData(_ data: [UInt8]) throws(StoreError) { try setAttribute(extendedDataAttribute, data) }

    /// The extended attribute `user.NAME`; nil if there is none or it cannot be read.
    package func attribute(_ name: String) -> [UInt8]? {
        readAttribute(name, of: descriptor)
    }

    /// Sets the extended attribute `user.NAME`, see `setExtendedData`.
    package func setAttribute(_ name: String, _ value: [UInt8]) throws(StoreError) {
        if larder_set_attribute(descriptor, "user." + name, value, value.count) == 0 || errno == ENOTSUP { return }
        let number = errno
        if number == ENOSPC && Self.isTooLarge(value, where: descriptor) {
            throw StoreError(.tooLarge, "set an attribute of \(value.count) bytes of", path)
        }
        throw StoreError("fsetxattr", path, number: number)
    }

    /// Whether ENOSPC means the value's size: ext4 returns it for that and for a full disk. A few bytes fit into every
    /// inode.
    private static func isTooLarge(_ value: [UInt8], where descriptor: Int32) -> Bool {
        var room = statvfs()
        guard value.count > 64, fstatvfs(descriptor, &room) == 0 else { return false }
        // Twice the largest value.
        return room.f_bavail > (128 << 10) / max(1, room.f_frsize)
    }
}

/// The attribute `user.NAME`; nil with errno. The kernel clears the whole buffer, so the first try is small.
private func readAttribute(_ name: String, of descriptor: Int32) -> [UInt8]? {
    for room in [512, 64 << 10] {  // XATTR_SIZE_MAX
        var length = 0
        let data = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            length = larder_get_attribute(descriptor, "user." + name, buffer.baseAddress, room)
            count = max(0, length)
        }
        if length >= 0 { return data }
        if errno != ERANGE { break }
    }
    return nil
}
