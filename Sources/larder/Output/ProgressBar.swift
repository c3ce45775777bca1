import JobQueue

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

    /// Shows where a batch stands.
    mutating func show(_ progress: BatchProgress) {
        let line = Self.line(progress, width: terminal ? 30 : 0)
        guard line != last else { return }
        last = line
        tell(terminal ? "\r\u{1B}[K" + line : line + "\n")
    }

    /// Ends the line, so that what follows starts on a new one.
    mutating func end() {
        if terminal && !last.isEmpty { tell("\n") }
        last = ""
    }

    /// The text: `[#####.....] 50% 5/10, 1 failed, 1 cancelled, 2.5/s, 2s left`; without a bar when `width` is 0.
    static func line(_ progress: BatchProgress, width: Int) -> String {
        let (finished, total) = (progress.finished, progress.total)
        let percent = total == 0 ? 100 : finished * 100 / total
        var line = ""
        if width > 0 {
            let filled = total == 0 ? width : finished * width / total
            line += "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "] "
        }
        line += "\(percent)% \(finished)/\(total)"
        if progress.failed > 0 { line += ", \(progress.failed) failed" }
        if progress.cancelled > 0 { line += ", \(progress.cancelled) cancelled" }
        let pace = progress.isOver ? "" : ProgressText.pace(progress)
        if !pace.isEmpty { line += ", \(pace)" }
        return line
    }
}
