import Glibc

/// Reads lines of a file or of standard input, a block at a time: a list of ten million URLs takes constant memory.
///
/// Lines are bytes: what is not UTF-8 is the reader's caller's business. Blanks, tabs and `\r` around a line are dropped,
/// as are empty lines. A line longer than 64 KiB comes cut off: no URL is that long, so it is refused like any bad one.
struct LineReader: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private var buffer: [UInt8] = []
    private var start = 0
    private var ended = false
    /// Within a line whose beginning was returned.
    private var isSkipping = false

    private static let block = 1 << 18
    private static let longest = 1 << 16

    /// Opens `path`, `-` for standard input.
    ///
    /// - Throws: a `CommandError` naming the file.
    init(_ path: String) throws(CommandError) {
        self.path = path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .larder(2, "cannot read \(path): \(String(cString: strerror(errno)))")
        }
    }

    deinit { if descriptor > STDIN_FILENO { close(descriptor) } }

    /// The number of the line that `next` gave last, from 1; empty ones count.
    private(set) var number = 0

    /// The next line that is not empty; nil at the end.
    mutating func next() throws(CommandError) -> [UInt8]? {
        while true {
            let newline = buffer[start...].firstIndex(of: UInt8(ascii: "\n"))
            if newline == nil && !ended && buffer.count - start <= Self.longest {
                try fill()
                continue
            }
            if newline == nil && start == buffer.count { return nil }
            let line = trimmed(buffer[start..<(newline ?? buffer.count)].prefix(Self.longest))
            start = newline.map { $0 + 1 } ?? buffer.count
            let wasSkipping = isSkipping
            if !wasSkipping { number += 1 }
            // Neither its newline nor the end of the file is here: more of this line is to come.
            isSkipping = newline == nil && !ended
            if !wasSkipping && !line.isEmpty { return Array(line) }
        }
    }

    private func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line.drop(while: Self.isBlank)
        while let last = line.last, Self.isBlank(last) { line.removeLast() }
        return line
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private mutating func fill() throws(CommandError) {
        buffer.removeFirst(start)
        start = 0
        let kept = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: Self.block))
        var count: Int
        repeat {
            count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress.map { $0 + kept }, Self.block) }
        } while count < 0 && errno == EINTR
        buffer.removeLast(Self.block - max(0, count))
        guard count >= 0 else {
            throw .larder(2, "cannot read \(path): \(String(cString: strerror(errno)))")
        }
        if count == 0 { ended = true }
    }
}
