import Glibc

/// A file being written, under a hidden name in the cache directory; gone with its last reference unless published.
///
/// A class, not a move-only value, so that it can be the result of a call on a pool and be handed on to tasks.
/// The last reference closes and deletes, which are calls to the file system: better dropped on a pool that may block.
public final class TemporaryFile: Sendable {
    private let file: Descriptor
    /// Its hidden name, for messages.
    public let path: String

    /// Creates it in `directory`, for reading and writing.
    init(in directory: String, _ permissions: FilePermissions) throws(StoreError) {
        path = directory + "/" + TemporaryName.ofThisProcess().text
        file = try Descriptor(opening: path, O_RDWR | O_CREAT | O_EXCL)
        do throws(StoreError) {
            try permissions.apply(to: file, at: path)
        } catch {
            unlink(path)
            throw error
        }
    }

    // No need to know whether it was published: the rename took the hidden name away, and no other file ever gets it.
    deinit { unlink(path) }

    /// The open file; valid as long as this object lives. May be handed to a child process.
    public var descriptor: Int32 { file.number }

    /// Writes all of `bytes` at the current position.
    ///
    /// - Throws: `StoreError`, `diskFull` when they do not fit.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) { try writeAll(bytes, to: file, at: path) }

    /// Waits until the disk has as much of the file as `durability` asks for.
    func synchronize(_ durability: Durability) throws(StoreError) {
        switch durability {
        case .none: return
        case .data: if retrying({ fdatasync(descriptor) }) < 0 { throw StoreError("fdatasync", path) }
        case .full: if retrying({ fsync(descriptor) }) < 0 { throw StoreError("fsync", path) }
        }
    }

    /// Gives it the name `destination`, in one step, in place of what had that name.
    func rename(to destination: String) throws(StoreError) {
        guard Glibc.rename(path, destination) == 0 else { throw StoreError("rename", destination) }
    }
}
