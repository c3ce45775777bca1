import Terminal

/// Where a report goes: a file that appears complete or not at all, or standard output.
final class ReportOutput {
    private let file: OutputFile?
    /// Text not yet written: lines of records are written many at a time.
    private var waiting = ""

    private static let portion = 1 << 16

    /// - Parameter path: nil for standard output, to which text is written as it comes.
    init(_ path: String?) throws(CommandError) {
        file = try path.map { path throws(CommandError) in try OutputFile(path) }
    }

    /// Whether a terminal may be what reads it, so that text must not move the cursor.
    var isConsole: Bool { file == nil }

    func write(_ text: String) throws(CommandError) {
        waiting += text
        if waiting.utf8.count >= Self.portion { try flush() }
    }

    /// Writes the rest and gives the file its name.
    func keep() throws(CommandError) {
        try flush()
        try file?.keep()
    }

    private func flush() throws(CommandError) {
        if let file { try file.write(Array(waiting.utf8)) } else { Console.write(waiting) }
        waiting = ""
    }
}
