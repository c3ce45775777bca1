import Glibc

/// A file being written, under a hidden name. Its last reference closes it and deletes it unless committed; release
/// that reference where blocking is allowed.
///
/// A class, so that thread pool calls can return it and tasks can pass it on.
public final class TemporaryFile: Sendable {
    private let file: Descriptor
    /// The hidden path.
    public let path: String

    /// Creates it in `directory`, for reading and writing. `DirectoryStore` deletes such files of dead processes when
    /// it opens a cache in that directory; other stores must delete their own.
    ///
    /// - Parameters:
    ///   - directory: its path.
    ///   - permissions: owner and mode of the file; the process's by default.
    public init(in directory: String, _ permissions: FilePermissions = FilePermissions()) throws(StoreError) {
        path = directory + "/" + TemporaryName.ofThisProcess().text
        file = try permissions.createFile(path)
    }

    // After a rename the hidden name does not exist, so `unlink` fails and the file stays. Otherwise truncate the file
    // to free the disk at once: a process being spawned on another thread may have a copy of the descriptor.
    deinit {
        var status = stat()
        if unlink(path) == 0 && fstat(descriptor, &status) == 0 && status.st_nlink == 0 { ftruncate(descriptor, 0) }
    }

    /// Deletes the name and leaves the bytes to processes that have the file open.
    package func detach() { unlink(path) }

    /// Valid as long as this object exists; may be passed to a child process.
    public var descriptor: Int32 { file.number }

    /// Writes all of `bytes` at the current position.
    ///
    /// - Throws: `StoreError`, `diskFull` if they do not fit.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) { try file.write(bytes, to: path) }

    package func write(_ bytes: [UInt8]) throws(StoreError) {
        try bytes.withBytes { (bytes) throws(StoreError) in try write(bytes) }
    }

    package var size: Int { get throws(StoreError) { Int(try file.status(of: path).st_size) } }

    package func bytes() throws(StoreError) -> [UInt8] {
        try file.read(Int(try file.status(of: path).st_size), at: 0, from: path)
    }

    func synchronize(_ durability: Durability) throws(StoreError) {
        switch durability {
        case .none: return
        case .data: if retrying({ fdatasync(descriptor) }) < 0 { throw StoreError("fdatasync", path) }
        case .full: if retrying({ fsync(descriptor) }) < 0 { throw StoreError("fsync", path) }
        }
    }

    /// Sets the modification date, and the access date to now.
    func setModificationDate(_ date: Timestamp) throws(StoreError) {
        let now = Timestamp.now.nanoseconds
        let times = [
            timespec(tv_sec: Int(now / 1_000_000_000), tv_nsec: Int(now % 1_000_000_000)),
            timespec(tv_sec: date.seconds, tv_nsec: 0),
        ]
        guard futimens(descriptor, times) == 0 else { throw StoreError("futimens", path) }
    }

    /// Calls `rename`.
    func rename(to destination: String) throws(StoreError) {
        guard Glibc.rename(path, destination) == 0 else { throw StoreError("rename", destination) }
    }
}
