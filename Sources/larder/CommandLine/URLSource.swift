import JobQueue

/// The URLs a command was given: its operands, then the lines of `--from`, a chunk at a time.
struct URLSource: ~Copyable {
    private var operands: ArraySlice<[UInt8]>
    private var lines: LineReader?
    /// What was read before anybody asked.
    private var ahead: ArraySlice<String>
    /// The file of `--from`; nil without one.
    let list: String?

    /// Reads the first chunk: a list that cannot be read is told before anything is made for it.
    ///
    /// - Throws: wrong usage when there is neither, a `CommandError` when the file cannot be read.
    init(_ arguments: Arguments, command: String) async throws(CommandError) {
        let path = try arguments.value("from")
        guard path != nil || !arguments.operandBytes.isEmpty else {
            throw .usage("\(command): which URLs? Name some, or a file of them with --from")
        }
        var operands = arguments.operandBytes[...]
        var lines: LineReader? = nil
        if let path { lines = try LineReader(path) }
        ahead = try await Self.read(EnqueueRequest.mostURLs, from: &operands, &lines)[...]
        list = path
        self.operands = operands
        self.lines = lines
    }

    /// No URLs.
    init() {
        operands = []
        ahead = []
        list = nil
        lines = nil
    }

    /// The lines of a file that this command has just written.
    init(readingAll file: borrowing OutputFile) throws(CommandError) {
        operands = []
        ahead = []
        list = nil
        // Opened anew, from its beginning.
        lines = try LineReader("/proc/self/fd/\(file.descriptor)")
    }

    /// Up to `count` URLs; empty at the end. What is not UTF-8 comes repaired, and will be answered as invalid.
    mutating func next(_ count: Int) async throws(CommandError) -> [String] {
        let chunk = ahead.prefix(count)
        ahead = ahead.dropFirst(count)
        return Array(chunk) + (try await Self.read(count - chunk.count, from: &operands, &lines))
    }

    private static func read(
        _ count: Int, from operands: inout ArraySlice<[UInt8]>, _ lines: inout LineReader?
    ) async throws(CommandError) -> [String] {
        var chunk: [String] = []
        while chunk.count < count {
            if let operand = operands.popFirst() {
                chunk.append(String(decoding: operand, as: UTF8.self))
            } else if let line = try await lines?.next() {
                chunk.append(String(decoding: line, as: UTF8.self))
            } else {
                break
            }
        }
        return chunk
    }
}
