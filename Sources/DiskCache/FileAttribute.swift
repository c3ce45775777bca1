private import CLinux
import Glibc

/// Small notes that go with a file: extended attributes of the `user.` kind.
extension OpenFile {
    /// The attribute `user.NAME`; nil when there is none or the file system keeps none.
    ///
    /// - Throws: `StoreError` when it cannot be read.
    package func attribute(_ name: String) throws(StoreError) -> [UInt8]? {
        var data = [UInt8](repeating: 0, count: 64 << 10)  // XATTR_SIZE_MAX
        let length = larder_get_attribute(descriptor, "user." + name, &data, data.count)
        if length >= 0 { return Array(data.prefix(length)) }
        if errno == ENODATA || errno == ENOTSUP { return nil }
        throw StoreError("fgetxattr", path)
    }

    /// Sets the attribute `user.NAME` of a stored file; one that may not be set is left as it is.
    package func setAttribute(_ name: String, _ value: [UInt8]) {
        _ = larder_set_attribute(descriptor, "user." + name, value, value.count)
    }
}

extension TemporaryFile {
    /// Sets the attribute `user.NAME`, which goes with the file when it is published.
    ///
    /// A file system without attributes keeps none, which is no error.
    ///
    /// - Throws: `StoreError`, `tooLarge` when the file system keeps none of that size: ext4 has 4 kB for all of a file's.
    package func setAttribute(_ name: String, _ value: [UInt8]) throws(StoreError) {
        if larder_set_attribute(descriptor, "user." + name, value, value.count) == 0 || errno == ENOTSUP { return }
        let number = errno
        if number == ENOSPC && Self.isTooLarge(value, where: descriptor) {
            throw StoreError(.tooLarge, "keep an attribute of \(value.count) bytes with", path)
        }
        throw StoreError("fsetxattr", path, number: number)
    }

    /// Whether it is the value for which there is no room: ext4 says of it what it says of a full disk. A few bytes find
    /// room in every inode.
    private static func isTooLarge(_ value: [UInt8], where descriptor: Int32) -> Bool {
        var room = statvfs()
        guard value.count > 64, fstatvfs(descriptor, &room) == 0 else { return false }
        // As much as the largest value takes.
        return room.f_bavail > (128 << 10) / max(1, room.f_frsize)
    }
}

extension OpenFile {
    /// Calls `body` with the file's first bytes, at most `length`; fewer where it is shorter or cannot be read.
    package func withPrefix<Result>(_ length: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, length, 0)
            return body(UnsafeRawBufferPointer(rebasing: buffer[..<max(0, count)]))
        }
    }
}
