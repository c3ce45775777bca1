private import CLinux
private import Glibc

/// Standard error of a child and its libraries: a pipe read only by the pool, so that it does not mix with this
/// process's output.
///
/// The pipe holds 64 KiB, the kernel's size. Writing to a full pipe drops the text and does not block the child.
struct ChildErrors: ~Copyable {
    /// The child's end; open until `closeWriter`.
    private(set) var writer: Int32
    private let reader: Int32

    /// - Throws: `TranscodeError` 301, or 501 if this machine lacks resources for a child.
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

    mutating func closeWriter() {
        close(writer)
        writer = -1
    }

    /// The last line written since the previous call, without control characters, at most 200 characters; nil for none.
    func takeLastLine() -> String? {
        var tail: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4 << 10)
        // Twice the pipe's size: a child that never stops writing cannot block this thread.
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
