private import CLinux
package import DiskCache
package import Glibc

/// A directory for opening files beneath it: the kernel refuses paths that leave it and symbolic links.
///
/// It stays the same directory if another one takes its path; `current` is then the new one.
package final class OpenDirectory: Sendable {
    /// The absolute path as given, without `.` and doubled slashes; the real path if it contains `..`.
    package let path: [UInt8]
    private let descriptor: Int32
    private let given: String
    /// The components of `path` and of the real path.
    private let spellings: [[ArraySlice<UInt8>]]

    /// Opens a directory; links in `path` itself are followed.
    ///
    /// - Throws: `StoreError`, with `ENOSYS` on Linux before 5.6, which has no `openat2`.
    package init(_ path: String) throws(StoreError) {
        guard let real = realpath(path, nil) else { throw StoreError("open", path) }
        defer { free(real) }
        let resolved = Array(UnsafeRawBufferPointer(start: real, count: strlen(real)))
        var given = Self.components(Array(path.utf8))
        if path.utf8.first != UInt8(ascii: "/") {
            guard let current = getcwd(nil, 0) else { throw StoreError("getcwd", path) }
            defer { free(current) }
            given = Self.components(Array(UnsafeRawBufferPointer(start: current, count: strlen(current)))) + given
        }
        if given.contains(where: { $0.elementsEqual("..".utf8) }) { given = Self.components(resolved) }
        self.given = path
        self.path = given.flatMap { [UInt8(ascii: "/")] + $0 }
        spellings = [given, Self.components(resolved)]
        descriptor = larder_open_directory(path)
        guard descriptor >= 0 else { throw StoreError("open", path) }
        do throws(StoreError) { _ = try entry(Array(".".utf8)) } catch {
            throw StoreError("openat2", path, number: error.number)
        }
    }

    deinit { close(descriptor) }

    /// The directory now at the path; this one if there is none.
    package var current: OpenDirectory {
        var named = stat(), held = stat()
        guard stat(given, &named) == 0, fstat(descriptor, &held) == 0,
            (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino), let other = try? OpenDirectory(given)
        else { return self }
        return other
    }

    /// The part of an absolute path beneath this directory; nil if it is elsewhere. The kernel resolves any `..`.
    package func relative(_ path: [UInt8]) -> [UInt8]? {
        let components = Self.components(path)
        guard let own = spellings.first(where: { components.starts(with: $0) }) else { return nil }
        let rest = components.dropFirst(own.count)
        return rest.isEmpty ? Array(".".utf8) : Array(rest.joined(separator: [UInt8(ascii: "/")]))
    }

    /// Looks up a file or directory beneath this one without opening it for reading.
    ///
    /// - Throws: `StoreError`, with `EXDEV` for a path that leaves the directory and `ELOOP` for a link.
    package func entry(_ relative: [UInt8]) throws(StoreError) -> DirectoryEntry {
        let found = (relative + [0]).withUnsafeBytes { bytes in
            larder_look_up_beneath(descriptor, bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
        }
        guard found >= 0 else { throw StoreError("openat2", String(decoding: relative, as: UTF8.self)) }
        return DirectoryEntry(descriptor: found)
    }

    private static func components(_ path: [UInt8]) -> [ArraySlice<UInt8>] {
        path.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
    }
}

/// A file or directory opened with `O_PATH`.
package struct DirectoryEntry: ~Copyable {
    private let descriptor: Int32

    fileprivate init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The result of `fstat`; nil on failure.
    package var status: stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }

    /// Opens it for reading with additional flags of `open`. Returns the close-on-exec descriptor, or -1 with errno.
    package func open(_ flags: Int32 = 0) -> Int32 {
        Glibc.open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC | O_NOCTTY | flags)
    }
}
