import CLinux
import Glibc

/// A command's output file, which appears only when complete.
///
/// A regular file is written unnamed in its directory, synced, then given a random name and renamed, so that a signal
/// before leaves nothing behind. Without support for unnamed files it has the random name from the start. Standard
/// output (`-`), devices and pipes receive the bytes at the end and are never replaced.
package final class OutputFile {
    /// Open for reading and writing.
    package let descriptor: Int32
    private let path: String
    private let temporary: String
    /// Whether the temporary name exists.
    private var isNamed: Bool
    /// Whether the bytes are copied to `path`.
    private let isCopied: Bool

    /// The name of standard output.
    package static let standard = "-"

    /// Creates the temporary file.
    ///
    /// - Throws: a directory, and a file that cannot be written.
    package init(_ given: String) throws(CommandError) {
        var status = stat()
        let exists = given != Self.standard && stat(given, &status) == 0
        let kind = status.st_mode & S_IFMT
        if exists, kind == S_IFDIR { throw .larder(.file, "cannot write \(given): it is a directory") }
        // Keep a link. A descriptor's link, such as /dev/stdout, may lead to something without a path: a pipe or a
        // deleted file.
        isCopied = given == Self.standard || exists && (kind != S_IFREG || status.st_nlink == 0)
        let path = isCopied ? given : try Self.target(of: given)
        self.path = path
        if isCopied {
            (descriptor, temporary, isNamed) = (try Self.unnamed(), "", false)
        } else {
            // With its slash; empty for the current directory.
            let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            temporary = directory + ".larder-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
            let unnamed = Self.unnamed(in: directory.isEmpty ? "." : directory)
            descriptor = unnamed ?? open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
            isNamed = unnamed == nil && descriptor >= 0
            guard descriptor >= 0 else { throw .file("write", given) }
            // A private file stays private. Only root may keep another owner.
            if exists {
                _ = fchown(descriptor, status.st_uid, status.st_gid)
                fchmod(descriptor, status.st_mode & 0o777)
            }
        }
    }

    /// The target of a path's links, which may not exist yet.
    private static func target(of given: String) throws(CommandError) -> String {
        var path = given
        // The kernel's limit.
        for _ in 0...40 {
            if let real = realpath(path, nil) {
                defer { free(real) }
                return String(cString: real)
            }
            var name = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &name, name.count - 1)
            guard count >= 0 else { return path }
            let target = String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
            path = target.hasPrefix("/") ? target : path[..<slash] + target
        }
        errno = ELOOP
        throw .file("write", given)
    }

    package static func scratch() throws(CommandError) -> OutputFile { try OutputFile() }

    private init() throws(CommandError) {
        (descriptor, path, temporary, isNamed, isCopied) = (try Self.unnamed(), "", "", false, false)
    }

    /// A new unnamed file in a directory; nil if unsupported, or if it could not be named later.
    private static func unnamed(in directory: String) -> Int32? {
        let descriptor = larder_open_unnamed(directory)
        guard descriptor >= 0 else { return nil }
        guard access("/proc/self/fd/\(descriptor)", F_OK) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// A new unlinked file in /tmp.
    package static func unnamed() throws(CommandError) -> Int32 {
        var name = Array("/tmp/larder-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw .file("write", "/tmp") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(name)
        return descriptor
    }

    deinit {
        close(descriptor)
        if isNamed { unlink(temporary) }
    }

    /// Up to `count` leading bytes.
    package func prefix(_ count: Int) -> [UInt8] { Self.prefix(count, of: descriptor) }

    package static func prefix(_ count: Int, of descriptor: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(descriptor, &bytes, count, 0)
        return Array(bytes.prefix(max(0, got)))
    }

    package func write(_ bytes: [UInt8]) throws(CommandError) { try Self.write(bytes[...], to: descriptor, path) }

    package static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, _ path: String) throws(CommandError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .file("write", path) }
            rest = rest.dropFirst(count)
        }
    }

    /// Gives the file its final name, or copies it to its destination.
    package func keep() throws(CommandError) {
        guard !isCopied else { return try copy() }
        guard fsync(descriptor) == 0 else { throw .file("write", path) }
        if !isNamed {
            // Without the intermediate name an existing file could not be replaced.
            guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0 else {
                throw .file("write", path)
            }
            isNamed = true
        }
        guard rename(temporary, path) == 0 else { throw .file("write", path) }
        isNamed = false
        try synchroniseDirectory()
    }

    /// Makes the new name survive a power failure.
    private func synchroniseDirectory() throws(CommandError) {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let handle = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // The directory may be writable but not readable.
        guard handle >= 0 else { return }
        defer { close(handle) }
        // EINVAL: unsupported by the file system.
        guard fsync(handle) == 0 || errno == EINVAL else { throw .file("write", path) }
    }

    private func copy() throws(CommandError) {
        let isStandard = path == Self.standard
        let target = isStandard ? STDOUT_FILENO : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC)
        guard target >= 0 else { throw .file("write", path) }
        defer { if !isStandard { close(target) } }
        var block = [UInt8](repeating: 0, count: 1 << 16)
        var place: off_t = 0
        while true {
            let count = pread(descriptor, &block, block.count, place)
            guard count >= 0 else { throw .file("read", path) }
            if count == 0 { return }
            try Self.write(block[..<count], to: target, isStandard ? "standard output" : path)
            place += count
        }
    }
}
