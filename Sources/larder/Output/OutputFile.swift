import Glibc

/// A file that a command writes under a temporary name and renames when it is complete.
final class OutputFile {
    /// Open for reading and writing.
    let descriptor: Int32
    private let path: String
    private let temporary: String
    /// Whether the temporary name exists.
    private var isNamed = true

    /// Creates the temporary file beside `path`.
    init(_ path: String) throws(CommandError) {
        self.path = path
        temporary = "\(path).larder-\(getpid())"
        descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw .file("write", path) }
    }

    /// A file without a name.
    static func scratch() throws(CommandError) -> OutputFile { try OutputFile() }

    private init() throws(CommandError) {
        var name = Array("/tmp/larder-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        path = "/tmp"
        temporary = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard descriptor >= 0 else { throw .file("write", path) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(temporary)
        isNamed = false
    }

    deinit {
        close(descriptor)
        if isNamed { unlink(temporary) }
    }

    /// The first `count` bytes of the file, or fewer.
    func prefix(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(descriptor, &bytes, count, 0)
        return Array(bytes.prefix(max(0, got)))
    }

    func write(_ bytes: [UInt8]) throws(CommandError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .file("write", path) }
            rest = rest.dropFirst(count)
        }
    }

    /// Renames the file to its final name.
    func keep() throws(CommandError) {
        guard rename(temporary, path) == 0 else { throw .file("write", path) }
        isNamed = false
    }
}
