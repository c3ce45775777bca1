private import CLinux
private import Glibc

/// What a child and its libraries write to standard error: a pipe that only the pool reads, so that no library's text
/// is mixed with this process's own output.
///
/// The pipe holds 64 KiB, the kernel's size. What is written to a full one is dropped and does not block the child.
struct ChildErrors: ~Copyable {
    /// The end for the child; open until `closeWriter`.
    private(set) var writer: Int32
    private let reader: Int32

    /// - Throws: `TranscodeError` 301, or 501 when this machine lacks what a child needs.
    init() throws(TranscodeError) {
        var ends: [Int32] = [-1, -1]
        guard larder_pipe(&ends) == 0 else {
            throw TranscodeError.noChild("there is no pipe for the transcoder", errno)
        }
        (reader, writer) = (ends[0], ends[1])
    }

    deinit {
        close(reader)
        if writer >= 0 { close(writer) }
    }

    /// Closes this process's copy of the child's end.
    mutating func closeWriter() {
        close(writer)
        writer = -1
    }

    /// The last line that was written since the previous call, without control characters, at most 200 characters; nil
    /// when nothing was.
    func takeLastLine() -> String? {
        var tail: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4 << 10)
        // Twice as much as the pipe holds: a child that writes without end does not keep this thread.
        for _ in 0..<32 {
            let count = read(reader, &buffer, buffer.count)
            guard count > 0 else { break }
            tail = (tail + buffer.prefix(count)).suffix(buffer.count)
        }
        let lines = tail.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
        let texts = lines.map { line in
            String(
                String.UnicodeScalarView(String(decoding: line, as: UTF8.self).unicodeScalars.filter { !$0.isControl }))
        }
        return texts.last { !$0.isEmpty }.map { String($0.prefix(200)) }
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
