import Concurrency
import DiskCache
import Glibc
package import Terminal

/// Reads the lines of a file or standard input in blocks on its own thread, in constant memory. Decompresses gzip and
/// zstd, and skips a byte order mark.
///
/// Lines are bytes of any encoding, cut off after 64 KiB, more than any URL has.
package struct LineReader: ~Copyable {
    private let input: ExpandedInput
    private let path: String
    private let hasComments: Bool
    private let isText: Bool
    private var buffer: [UInt8] = []
    private var start = 0
    private var ended = false
    private var isBegun = false
    /// Whether the rest of a cut line follows.
    private var isSkipping = false
    private let thread = ThreadPool(name: "lines", threads: 1)

    /// In bytes.
    static let longest = 1 << 16

    /// Opens `path`; `-` is standard input. With `hasComments`, `next` also skips lines beginning with `#`.
    ///
    /// - Parameters:
    ///   - name: for errors, the path by default.
    ///   - isText: refuses a file that begins like UTF-16 or a program; zero bytes elsewhere belong to their line.
    ///   - isStopped: once true, the list ends with the last complete line read.
    package init(
        _ path: String, of name: String? = nil, hasComments: Bool = false, isText: Bool = false,
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) throws(CommandError) {
        self.path = name ?? path
        self.isText = isText
        self.hasComments = hasComments
        do throws(StoreError) {
            input = try ExpandedInput(path, isStopped: isStopped)
        } catch {
            throw Self.unreadable(path, error)
        }
    }

    /// The last returned line's number, from 1, counting skipped lines.
    package private(set) var number = 0

    /// Whether that line was cut.
    private(set) var isCut = false

    /// Whether the list was stopped.
    var wasStopped: Bool { ended && input.wasStopped }

    /// The next non-empty line without surrounding spaces, tabs and `\r`; nil at the end.
    package mutating func next() async throws(CommandError) -> [UInt8]? {
        while let line = try await nextWhole() {
            let text = line.trimmed
            if text.isEmpty || hasComments && text.first == UInt8(ascii: "#") { continue }
            return Array(text)
        }
        return nil
    }

    /// The next line unchanged, without its `
    /// ` and `\r`; nil at the end.
    mutating func nextWhole() async throws(CommandError) -> ArraySlice<UInt8>? {
        while true {
            let newline = buffer[start...].firstIndex(of: UInt8(ascii: "\n"))
            if newline == nil && !ended && buffer.count - start <= Self.longest {
                try await fill()
                continue
            }
            // A stopped list may have part of its last line.
            if newline == nil && (start == buffer.count || wasStopped) { return nil }
            let end = newline ?? buffer.count
            let line = buffer[start..<end].prefix(Self.longest)
            let isLong = end - start > Self.longest
            start = newline.map { $0 + 1 } ?? buffer.count
            let wasSkipping = isSkipping
            isSkipping = newline == nil && !ended
            if wasSkipping { continue }
            number += 1
            isCut = isLong || isSkipping
            return line.last == 0x0D ? line.dropLast() : line
        }
    }

    /// Up to 4 KiB of unread bytes, without consuming them.
    mutating func beginning() async throws(CommandError) -> [UInt8] {
        while !ended && buffer.count - start < 4_096 { try await fill() }
        return Array(buffer[start...].prefix(4_096))
    }

    /// The next bytes, regardless of lines; empty at the end.
    mutating func nextBlock() async throws(CommandError) -> [UInt8] {
        if start == buffer.count && !ended { try await fill() }
        defer { start = buffer.count }
        return Array(buffer[start...])
    }

    private mutating func fill() async throws(CommandError) {
        let input = input
        let more: [UInt8]
        do throws(StoreError) {
            more = try await thread.run { () throws(StoreError) in try input.read() }
        } catch {
            throw Self.unreadable(path, error)
        }
        buffer.removeFirst(start)
        start = 0
        buffer += more
        ended = more.isEmpty
        if !isBegun && (buffer.count >= 3 || ended) {
            isBegun = true
            if buffer.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
            // "http" has four in UTF-16. A single one may be in a URL, which is then invalid.
            if isText && buffer.prefix(512).count(where: { $0 == 0 }) >= 4 {
                let list = path == "-" ? "standard input" : path
                throw .larder(.file, "cannot read \(list): not text; UTF-16?")
            }
        }
    }

    private static func unreadable(_ path: String, _ error: StoreError) -> CommandError {
        .larder(
            .file,
            error.code == .damaged
                ? "cannot read \(path): its compressed data is damaged"
                : "cannot read \(path): \(String(cString: strerror(error.number)))")
    }
}

extension ArraySlice<UInt8> {
    /// Without surrounding spaces, tabs and `\r`.
    var trimmed: ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var rest = drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
