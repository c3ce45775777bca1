import Glibc

/// A file a command writes: under a temporary name beside the real one until it is whole.
final class OutputFile {
    /// Open for reading and writing.
    let descriptor: Int32
    private let path: String
    private let temporary: String
    /// Without a name there is nothing to take away.
    private var isNamed = true

    /// Creates the temporary file beside `path`; throws a `CommandError` naming it.
    init(_ path: String) throws(CommandError) {
        self.path = path
        temporary = "\(path).larder-\(getpid())"
        descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw .file("write", path) }
    }

    /// A file nobody will see, gone with its owner.
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

    /// The first bytes of what was written, `count` at most.
    func prefix(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(descriptor, &bytes, count, 0)
        return Array(bytes.prefix(max(0, got)))
    }

    /// Adds bytes.
    func write(_ bytes: [UInt8]) throws(CommandError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .file("write", path) }
            rest = rest.dropFirst(count)
        }
    }

    /// Gives the file its real name.
    func keep() throws(CommandError) {
        guard rename(temporary, path) == 0 else { throw .file("write", path) }
        isNamed = false
    }
}
