import Glibc

/// An open directory for reading and deleting files below it. Never follows a symbolic link below it, even if a name is
/// replaced between two calls.
struct HeldDirectory: ~Copyable {
    private let path: String
    private let directory: Descriptor

    /// - Parameter path: may be a symbolic link.
    init(_ path: String) throws(StoreError) {
        self.path = path
        directory = try Descriptor(opening: path, O_RDONLY | O_DIRECTORY)
    }

    /// Opens the directory of the images. It must not be a symbolic link, which may lead to another cache; the root may
    /// be one.
    init(of layout: CacheLayout) throws(StoreError) {
        let name = layout.naming.directory(of: layout.namespace)
        let root = try Descriptor(opening: layout.root, O_RDONLY | O_DIRECTORY)
        let number = retrying { openat(root.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard number >= 0 else {
            let code = errno
            var status = stat()
            if fstatat(root.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFLNK {
                throw StoreError(
                    .notADirectory, "delete files below", layout.directory,
                    cause: "it is a symbolic link, and may lead to another cache")
            }
            throw StoreError("open", layout.directory, number: code)
        }
        path = layout.directory
        directory = Descriptor(owning: number)
    }

    /// Opens a file for reading; nil if it does not exist, is not regular, or is reached through a link.
    ///
    /// - Parameter name: relative to the directory.
    func file(_ name: String) throws(StoreError) -> OpenFile? {
        var parts = name.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        guard let last = parts.popLast() else { return nil }
        var number: Int32 = -1
        _ = try inParent(parts[...], of: directory.number) { parent in
            number = retrying { openat(parent, last, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) }
            return number >= 0
        }
        return number < 0 ? nil : try OpenFile(Descriptor(owning: number), path + "/" + name)
    }

    /// Deletes a file, or a symbolic link itself, and returns whether it existed (`unlinkat`).
    ///
    /// - Parameter name: relative to the directory.
    @discardableResult
    func unlink(_ name: String) throws(StoreError) -> Bool {
        try remove(name, flags: 0, "unlink", accepting: [ENOENT])
    }

    /// Deletes an empty directory (`unlinkat`).
    func rmdir(_ name: String) throws(StoreError) {
        _ = try remove(name, flags: AT_REMOVEDIR, "rmdir", accepting: [ENOENT, ENOTEMPTY, EEXIST])
    }

    private func remove(
        _ name: String, flags: Int32, _ call: String, accepting accepted: [Int32]
    ) throws(StoreError) -> Bool {
        var parts = name.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        guard let last = parts.popLast() else { return false }
        if try inParent(parts[...], of: directory.number, { unlinkat($0, last, flags) == 0 }) { return true }
        guard accepted.contains(errno) else { throw StoreError(call, path + "/" + name) }
        return false
    }

    /// Opens the directories one after the other; none may be a link.
    private func inParent(
        _ parts: ArraySlice<String>, of number: Int32, _ body: (Int32) -> Bool
    ) throws(StoreError) -> Bool {
        guard let first = parts.first else { return body(number) }
        let next = retrying { openat(number, first, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard next >= 0 else { return false }
        let parent = Descriptor(owning: next)
        let isDone = try inParent(parts.dropFirst(), of: parent.number, body)
        let number = errno
        _ = consume parent
        errno = number
        return isDone
    }
}
