private import CLinux
import Glibc

/// A stored picture, open for reading; closed with its last reference.
///
/// It stays readable when the entry is replaced or removed meanwhile.
/// A class, not a move-only value, so that it can be the result of a call on a pool and be handed on to tasks.
public final class OpenFile: Sendable {
    private let file: Descriptor
    /// Where it was found: under the key's file name or, as older versions stored it, without extension.
    public let path: String
    /// Its size in bytes.
    public let size: Int

    /// Nil when `path` is not there, or no regular file.
    init?(ifPresent path: String) throws(StoreError) {
        // Without O_NONBLOCK a named pipe would block here.
        guard let file = try Descriptor(ifPresent: path, O_RDONLY | O_NONBLOCK) else { return nil }
        let status = try file.status(of: path)
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.file = file
        self.path = path
        size = Int(status.st_size)
    }

    /// The open file, at its beginning; valid as long as this object lives.
    public var descriptor: Int32 { file.number }

    /// The extended data published with the picture; nil when there is none or the file system keeps none.
    ///
    /// - Throws: `StoreError` when the attribute cannot be read.
    public func extendedData() throws(StoreError) -> [UInt8]? {
        var data = [UInt8](repeating: 0, count: 64 << 10)  // XATTR_SIZE_MAX
        let length = larder_get_attribute(descriptor, extendedDataAttribute, &data, data.count)
        if length >= 0 { return Array(data.prefix(length)) }
        if errno == ENODATA || errno == ENOTSUP { return nil }
        throw StoreError("fgetxattr", path)
    }

    /// Sets the access time to now and leaves the modification time: expiry goes by it, whatever the mount options say.
    func touch() throws(StoreError) {
        if larder_touch_access_time(descriptor) == 0 { return }
        // A reader that does not own the files, or a read-only cache: what it reads is no worse for it.
        if errno == EPERM || errno == EACCES || errno == EROFS { return }
        throw StoreError("futimens", path)
    }
}

/// SDWebImage's attribute in the namespace that Linux demands.
let extendedDataAttribute = "user.com.hackemist.SDDiskCache"
