import Concurrency
import Glibc

/// Reads the lines of a file or of standard input in blocks on its own thread, in constant memory.
///
/// Lines are bytes of any encoding. Spaces, tabs and `\r` around a line are removed, empty lines are skipped, and a
/// line is cut off after 64 KiB, more than any URL has. A list may have comments: lines that begin with `#`.
struct LineReader: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private let hasComments: Bool
    private var buffer: [UInt8] = []
    private var start = 0
    private var ended = false
    /// Whether the rest of a line that was cut off follows.
    private var isSkipping = false
    private let thread = ThreadPool(name: "lines", threads: 1)

    private static let block = 1 << 18
    private static let longest = 1 << 16

    /// Opens `path`; `-` is standard input. With `hasComments`, lines that begin with `#` are skipped, too.
    init(_ path: String, hasComments: Bool = false) throws(CommandError) {
        self.path = path
        self.hasComments = hasComments
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("read", path) }
    }

    deinit { if descriptor > STDIN_FILENO { close(descriptor) } }

    /// The number of the line that `next` returned last, from 1; skipped lines count.
    private(set) var number = 0

    /// The next line; nil at the end.
    mutating func next() async throws(CommandError) -> [UInt8]? {
        while true {
            let newline = buffer[start...].firstIndex(of: UInt8(ascii: "\n"))
            if newline == nil && !ended && buffer.count - start <= Self.longest {
                try await fill()
                continue
            }
            if newline == nil && start == buffer.count { return nil }
            let line = trimmed(buffer[start..<(newline ?? buffer.count)].prefix(Self.longest))
            start = newline.map { $0 + 1 } ?? buffer.count
            let wasSkipping = isSkipping
            if !wasSkipping { number += 1 }
            isSkipping = newline == nil && !ended
            if wasSkipping || line.isEmpty || hasComments && line.first == UInt8(ascii: "#") { continue }
            return Array(line)
        }
    }

    private func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line.drop(while: Self.isBlank)
        while let last = line.last, Self.isBlank(last) { line.removeLast() }
        return line
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private mutating func fill() async throws(CommandError) {
        let (descriptor, path) = (descriptor, path)
        let more = try await thread.run { () throws(CommandError) in try Self.block(of: descriptor, path) }
        buffer.removeFirst(start)
        start = 0
        buffer += more
        ended = more.isEmpty
    }

    /// Blocks; empty at the end.
    private static func block(of descriptor: Int32, _ path: String) throws(CommandError) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: block) { buffer, count in
            var got: Int
            repeat { got = read(descriptor, buffer.baseAddress, block) } while got < 0 && errno == EINTR
            if got < 0 { failure = errno }
            count = max(0, got)
        }
        guard failure == 0 else { throw .larder(.file, "cannot read \(path): \(String(cString: strerror(failure)))") }
        return bytes
    }
}
