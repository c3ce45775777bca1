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
    /// Whether this is where extended data lies: under the key's own name.
    private let hasExtendedData: Bool

    /// Nil when `path` is not there, or no regular file.
    convenience init?(ifPresent path: String, hasExtendedData: Bool = true) throws(StoreError) {
        // Without O_NONBLOCK a named pipe would block here.
        guard let file = try Descriptor(ifPresent: path, O_RDONLY | O_NONBLOCK) else { return nil }
        try self.init(file, path, hasExtendedData)
    }

    /// The same, so that reading it does not count as an access where the process may ask for that: as its owner, or root.
    convenience init?(peekingAt path: String, hasExtendedData: Bool = true) throws(StoreError) {
        let number = retrying { larder_open_unseen(path) }
        if number < 0 && errno == ENOENT { return nil }
        guard number >= 0 else { throw StoreError("open", path) }
        try self.init(Descriptor(owning: number), path, hasExtendedData)
    }

    private init?(_ file: consuming Descriptor, _ path: String, _ hasExtendedData: Bool) throws(StoreError) {
        let status = try file.status(of: path)
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.file = file
        self.path = path
        self.hasExtendedData = hasExtendedData
        size = Int(status.st_size)
    }

    /// The open file, at its beginning; valid as long as this object lives.
    public var descriptor: Int32 { file.number }

    /// At most `count` bytes from `offset` on; fewer at the end.
    ///
    /// - Throws: `StoreError` when they cannot be read.
    public func bytes(_ count: Int, at offset: Int = 0) throws(StoreError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw StoreError("pread", path) }
            if got == 0 { break }
            filled += got
        }
        return Array(bytes.prefix(filled))
    }

    /// The extended data published with the picture; nil when there is none or the file system keeps none, and, as in
    /// SDWebImage, for a picture found elsewhere than under its key's file name in the cache itself.
    ///
    /// - Throws: `StoreError` when the attribute cannot be read.
    public func extendedData() throws(StoreError) -> [UInt8]? {
        hasExtendedData ? try attribute(extendedDataAttribute) : nil
    }

    /// Device and inode: two names of one file have the same.
    func identity() throws(StoreError) -> [UInt] {
        let status = try file.status(of: path)
        return [UInt(status.st_dev), UInt(status.st_ino)]
    }

    /// Sets the access time to now and leaves the modification time: expiry goes by it, whatever the mount options say.
    func touch() throws(StoreError) {
        if larder_touch_access_time(descriptor) == 0 { return }
        // A reader that does not own the files, a read-only cache, a file system that needs room to note a date (btrfs):
        // what is read is no worse for it.
        if [EPERM, EACCES, EROFS, ENOSPC, EDQUOT].contains(errno) { return }
        throw StoreError("futimens", path)
    }
}

/// SDWebImage's attribute; on Linux `user.` stands before it.
let extendedDataAttribute = "com.hackemist.SDDiskCache"
