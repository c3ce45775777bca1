import JobQueue

/// The URLs of a command, read in chunks: the operands, then the lines of `--from`.
struct URLSource: ~Copyable {
    private var operands: ArraySlice<[UInt8]>
    private var lines: LineReader?
    /// What `init` has read.
    private var ahead: ArraySlice<String>
    /// The file of `--from`.
    let list: String?

    /// Reads the first chunk, so that an unreadable list is an error before a batch is opened for it.
    ///
    /// - Throws: wrong usage without operands and `--from`; a `CommandError` when the file cannot be read.
    init(_ arguments: Arguments, command: String) async throws(CommandError) {
        let path = try arguments.value("from")
        guard path != nil || !arguments.operandBytes.isEmpty else {
            throw .usage("\(command): URLs or --from are required")
        }
        var operands = arguments.operandBytes[...]
        var lines: LineReader? = nil
        if let path { lines = try LineReader(path, hasComments: true) }
        ahead = try await Self.read(EnqueueRequest.maxURLs, from: &operands, &lines)[...]
        list = path
        self.operands = operands
        self.lines = lines
    }

    init() {
        operands = []
        ahead = []
        list = nil
        lines = nil
    }

    /// The lines of a file that this command has written.
    init(readingAll file: borrowing OutputFile) throws(CommandError) {
        operands = []
        ahead = []
        list = nil
        // A new description starts at the beginning of the file.
        lines = try LineReader("/proc/self/fd/\(file.descriptor)")
    }

    /// Up to `count` URLs; empty at the end. Invalid UTF-8 is repaired; the queue then answers `invalid`.
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
