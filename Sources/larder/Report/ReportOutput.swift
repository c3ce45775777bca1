/// Where a report goes: a file that appears complete or not at all, or standard output.
struct ReportOutput {
    private let file: OutputFile?

    /// - Parameter path: nil for standard output, to which text is written as it comes.
    init(_ path: String?) throws(CommandError) {
        file = try path.map { path throws(CommandError) in try OutputFile(path) }
    }

    /// Whether a terminal may be what reads it, so that text must not move the cursor.
    var isConsole: Bool { file == nil }

    func write(_ text: String) throws(CommandError) {
        if let file { try file.write(Array(text.utf8)) } else { Console.write(text) }
    }

    /// Gives the file its name.
    func keep() throws(CommandError) { try file?.keep() }
}
