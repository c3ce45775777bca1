private import Glibc

/// First and last lines of a server's text files.
enum TextFile {
    /// Nil if there is none.
    static func firstLine(_ path: String) -> String? {
        reading(path) { descriptor in lines(of: descriptor, from: 0).first } ?? nil
    }

    /// The last five lines, within the last 4 KiB; none without a file.
    static func lastLines(_ path: String) -> [String] { reading(path, lastLines(of:)) ?? [] }

    static func lastLines(of descriptor: Int32) -> [String] {
        lines(of: descriptor, from: max(0, lseek(descriptor, 0, SEEK_END) - 4096)).suffix(5)
    }

    private static func lines(of descriptor: Int32, from offset: off_t) -> [String] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = pread(descriptor, &bytes, bytes.count, offset)
        return bytes[..<max(0, count)].split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Does not follow links and does not block: root uses it to read in another user's directory.
    private static func reading<Value>(_ path: String, _ body: (Int32) -> Value) -> Value? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return body(descriptor)
    }
}
