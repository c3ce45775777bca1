/// The URLs a command was given: its operands, then the lines of `--from`, a chunk at a time.
struct URLSource: ~Copyable {
    private var operands: ArraySlice<[UInt8]>
    private var lines: LineReader?
    /// The file of `--from`; nil without one.
    let list: String?

    /// - Throws: wrong usage when there is neither, a `CommandError` when the file cannot be read.
    init(_ arguments: Arguments, command: String) throws(CommandError) {
        let path = try arguments.value("from")
        guard path != nil || !arguments.operandBytes.isEmpty else {
            throw .usage("\(command): which URLs? Name some, or a file of them with --from")
        }
        if let path { lines = try LineReader(path) } else { lines = nil }
        list = path
        operands = arguments.operandBytes[...]
    }

    /// Up to `count` URLs; empty at the end. What is not UTF-8 comes repaired, and will be answered as invalid.
    mutating func next(_ count: Int) throws(CommandError) -> [String] {
        var chunk: [String] = []
        while chunk.count < count {
            if let operand = operands.popFirst() {
                chunk.append(String(decoding: operand, as: UTF8.self))
            } else if let line = try lines?.next() {
                chunk.append(String(decoding: line, as: UTF8.self))
            } else {
                break
            }
        }
        return chunk
    }
}
