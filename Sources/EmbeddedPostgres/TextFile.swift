private import Glibc

/// The first and last lines of text files that a server writes.
enum TextFile {
    /// The first line; nil when there is none.
    static func firstLine(_ path: String) -> String? {
        reading(path) { descriptor in lines(of: descriptor, from: 0).first } ?? nil
    }

    /// The last five lines, within the last 4 KiB; none when there is no such file.
    static func lastLines(_ path: String) -> [String] { reading(path, lastLines(of:)) ?? [] }

    /// The last five lines of an open file.
    static func lastLines(of descriptor: Int32) -> [String] {
        lines(of: descriptor, from: max(0, lseek(descriptor, 0, SEEK_END) - 4096)).suffix(5)
    }

    private static func lines(of descriptor: Int32, from offset: off_t) -> [String] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = pread(descriptor, &bytes, bytes.count, offset)
        return bytes[..<max(0, count)].split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Does not follow links and does not block: as root this reads in another user's directory.
    private static func reading<Value>(_ path: String, _ body: (Int32) -> Value) -> Value? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return body(descriptor)
    }
}
