/// One line of progress: redrawn on a terminal, a plain line at every change elsewhere.
struct ProgressBar {
    private let terminal: Bool
    private let tell: (String) -> Void
    private var last = ""

    /// A bar that `tell` writes.
    init(terminal: Bool, tell: @escaping (String) -> Void) {
        self.terminal = terminal
        self.tell = tell
    }

    /// Shows `finished` of `total`, and how many of them were skipped.
    mutating func show(finished: Int, total: Int, skipped: Int, note: String = "") {
        let line = Self.line(finished: finished, total: total, skipped: skipped, note: note, width: terminal ? 30 : 0)
        guard line != last else { return }
        last = line
        tell(terminal ? "\r\u{1B}[K" + line : line + "\n")
    }

    /// Ends the line, so that what follows starts on a new one.
    mutating func end() {
        if terminal && !last.isEmpty { tell("\n") }
        last = ""
    }

    /// The text: `[#####.....] 50% 5/10, 1 failed`.
    static func line(finished: Int, total: Int, skipped: Int, note: String, width: Int) -> String {
        let percent = total == 0 ? 100 : finished * 100 / total
        var line = ""
        if width > 0 {
            let filled = total == 0 ? width : finished * width / total
            line += "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "] "
        }
        line += "\(percent)% \(finished)/\(total)"
        if skipped > 0 { line += ", \(skipped) failed" }
        if !note.isEmpty { line += ", \(note)" }
        return line
    }
}
