import Glibc

/// An open directory below which files are deleted. No symbolic link below it is followed, also when a name is replaced
/// between two calls.
struct HeldDirectory: ~Copyable {
    private let path: String
    private let directory: Descriptor

    /// - Parameter path: may itself be a symbolic link.
    init(_ path: String) throws(StoreError) {
        self.path = path
        directory = try Descriptor(opening: path, O_RDONLY | O_DIRECTORY)
    }

    /// Deletes a file, or a symbolic link itself. A name that does not exist is no error (`unlinkat`).
    ///
    /// - Parameter name: relative to the directory.
    func unlink(_ name: String) throws(StoreError) { try remove(name, flags: 0, "unlink", accepting: [ENOENT]) }

    /// Deletes a directory if it is empty (`unlinkat`).
    func rmdir(_ name: String) throws(StoreError) {
        try remove(name, flags: AT_REMOVEDIR, "rmdir", accepting: [ENOENT, ENOTEMPTY, EEXIST])
    }

    private func remove(
        _ name: String, flags: Int32, _ call: String, accepting accepted: [Int32]
    ) throws(StoreError) {
        var parts = name.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        guard let last = parts.popLast() else { return }
        if try !inParent(parts[...], of: directory.number, { unlinkat($0, last, flags) == 0 }),
            !accepted.contains(errno)
        {
            throw StoreError(call, path + "/" + name)
        }
    }

    /// Opens one directory after the other, none of which may be a link.
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
