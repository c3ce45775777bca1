import Glibc

/// Who may use the files and directories that the cache makes.
public struct FilePermissions: Hashable, Sendable {
    /// The mode of files, whatever the umask; nil, the default, is 0644 less the umask.
    public var fileMode: UInt16?
    /// The mode of directories, whatever the umask; nil, the default, is 0755 less the umask.
    public var directoryMode: UInt16?
    /// The user by number; nil, the default, is the process' own. Only root can give files away.
    public var user: UInt32?
    /// The group by number; nil, the default, is the process' own, or the directory's where that has the set-group bit.
    public var group: UInt32?

    /// The usual permissions, as far as nothing else is said.
    public init(fileMode: UInt16? = nil, directoryMode: UInt16? = nil, user: UInt32? = nil, group: UInt32? = nil) {
        self.fileMode = fileMode
        self.directoryMode = directoryMode
        self.user = user
        self.group = group
    }

    /// Gives them to a file that nobody else knows yet.
    func apply(to file: borrowing Descriptor, at path: String) throws(StoreError) {
        // The owner first: chown takes away what the mode may have set.
        if (user != nil || group != nil) && fchown(file.number, user ?? .max, group ?? .max) != 0 {
            throw StoreError("fchown", path)
        }
        if let fileMode, fchmod(file.number, mode_t(fileMode)) != 0 { throw StoreError("fchmod", path) }
    }

    /// Makes an empty file with them, which must not be there yet.
    func makeEmptyFile(_ path: String) throws(StoreError) {
        let file = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL)
        do throws(StoreError) {
            try apply(to: file, at: path)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Gives them to a directory that was just made.
    func apply(toDirectory path: String) throws(StoreError) {
        if (user != nil || group != nil) && lchown(path, user ?? .max, group ?? .max) != 0 {
            throw StoreError("lchown", path)
        }
        if let directoryMode, chmod(path, mode_t(directoryMode)) != 0 { throw StoreError("chmod", path) }
    }
}
