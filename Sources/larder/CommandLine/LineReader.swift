import Glibc

/// Reads lines of a file or of standard input, a block at a time: a list of ten million URLs takes constant memory.
///
/// Lines are bytes: what is not UTF-8 is the reader's caller's business. `\r` before the newline is dropped,
/// as are empty lines; a line longer than 64 KiB is an error that names its number.
struct LineReader: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private var buffer: [UInt8] = []
    private var start = 0
    private var ended = false
    /// The number of the line last returned, from 1.
    private(set) var lineNumber = 0

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

    /// The next line that is not empty; nil at the end.
    mutating func next() throws(CommandError) -> [UInt8]? {
        while true {
            if let newline = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = trimmed(buffer[start..<newline])
                start = newline + 1
                lineNumber += 1
                if !line.isEmpty { return Array(line) }
                continue
            }
            if ended {
                guard start < buffer.count else { return nil }
                let line = trimmed(buffer[start...])
                start = buffer.count
                lineNumber += 1
                return line.isEmpty ? nil : Array(line)
            }
            guard buffer.count - start <= Self.longest else {
                throw .larder(2, "\(path): line \(lineNumber + 1) is longer than \(Self.longest) bytes")
            }
            try fill()
        }
    }

    private func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }

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
