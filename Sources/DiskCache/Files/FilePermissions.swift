import Glibc

/// Owner and mode of files and directories created by a store.
public struct FilePermissions: Hashable, Sendable {
    /// Mode of files regardless of the umask; nil, the default, is 0644 minus the umask.
    public var fileMode: UInt16?
    /// Mode of directories regardless of the umask; nil, the default, is 0755 minus the umask.
    public var directoryMode: UInt16?
    /// User id; nil, the default, is the process's. Only root can set another one.
    public var user: UInt32?
    /// Group id; nil, the default, is the process's, or the directory's if that has the set-group-ID bit.
    public var group: UInt32?

    /// All parameters are nil by default.
    public init(fileMode: UInt16? = nil, directoryMode: UInt16? = nil, user: UInt32? = nil, group: UInt32? = nil) {
        self.fileMode = fileMode
        self.directoryMode = directoryMode
        self.user = user
        self.group = group
    }

    /// Creates a file, which must not exist, with these permissions.
    func createFile(_ path: String) throws(StoreError) -> Descriptor {
        let file = try Descriptor(opening: path, O_RDWR | O_CREAT | O_EXCL)
        do throws(StoreError) {
            // The owner first: fchown clears mode bits.
            if (user != nil || group != nil) && fchown(file.number, user ?? .max, group ?? .max) != 0 {
                throw StoreError("fchown", path)
            }
            if let fileMode, fchmod(file.number, mode_t(fileMode)) != 0 { throw StoreError("fchmod", path) }
        } catch {
            unlink(path)
            throw error
        }
        return file
    }

    func apply(toDirectory path: String) throws(StoreError) {
        if (user != nil || group != nil) && lchown(path, user ?? .max, group ?? .max) != 0 {
            throw StoreError("lchown", path)
        }
        if let directoryMode, chmod(path, mode_t(directoryMode)) != 0 { throw StoreError("chmod", path) }
    }
}
