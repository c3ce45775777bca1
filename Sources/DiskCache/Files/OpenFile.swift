private import CLinux
import Glibc
private import ImageModel

/// An image file open for reading, closed with its last reference. Stays readable when replaced or deleted.
///
/// A class, so that thread pool calls can return it and tasks can share it.
public final class OpenFile: Sendable {
    private let file: Descriptor
    /// The path at opening.
    public let path: String
    /// In bytes.
    public let size: Int

    /// Opens a file; nil if `path` does not exist or is not a regular file.
    public convenience init?(ifPresent path: String) throws(StoreError) {
        // Opening a named pipe without O_NONBLOCK would block.
        guard let file = try Descriptor(ifPresent: path, O_RDONLY | O_NONBLOCK) else { return nil }
        try self.init(file, path)
    }

    /// As `init(ifPresent:)`; reading keeps the access time if the process owns the file or is root.
    convenience init?(peekingAt path: String) throws(StoreError) {
        let number = retrying { larder_open_unseen(path) }
        if number < 0 && errno == ENOENT { return nil }
        guard number >= 0 else { throw StoreError("open", path) }
        try self.init(Descriptor(owning: number), path)
    }

    init?(_ file: consuming Descriptor, _ path: String) throws(StoreError) {
        let status = try file.status(of: path)
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.file = file
        self.path = path
        size = Int(status.st_size)
    }

    /// Valid as long as this object exists.
    public var descriptor: Int32 { file.number }

    /// Reads up to `count` bytes at `offset`; fewer at the end of the file.
    public func bytes(_ count: Int, at offset: Int = 0) throws(StoreError) -> [UInt8] {
        try file.read(count, at: offset, from: path)
    }

    /// The SHA-256 of the file as 64 lower-case hexadecimal digits. Blocks.
    public func sha256() throws(StoreError) -> String {
        guard let digest = SHA256Digest.hex(ofFile: descriptor) else { throw StoreError("pread", path) }
        return digest
    }

    /// In blocks of 256 KiB.
    package func forEachBlock(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        var offset = 0
        while true {
            let block = try bytes(1 << 18, at: offset)
            if block.isEmpty { return }
            try block.withBytes(body)
            offset += block.count
        }
    }

    /// Calls `body` with up to `length` leading bytes; none if the file cannot be read.
    package func withPrefix<Value>(_ length: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, length, 0)
            return body(UnsafeRawBufferPointer(rebasing: buffer[..<max(0, count)]))
        }
    }

    /// Device and inode, shared by all hard links of a file.
    func identity() throws(StoreError) -> [UInt] {
        let status = try file.status(of: path)
        return [UInt(status.st_dev), UInt(status.st_ino)]
    }

    /// Sets the access time to now, whatever the mount options, and keeps the modification time.
    func touch() throws(StoreError) {
        if larder_touch_access_time(descriptor) == 0 { return }
        // Another owner, a read-only mount, or a full btrfs: the file can still be read.
        if [EPERM, EACCES, EROFS, ENOSPC, EDQUOT].contains(errno) { return }
        throw StoreError("futimens", path)
    }
}
