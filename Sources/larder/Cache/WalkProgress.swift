import Glibc

/// Shows the progress of a command over files on standard error: redrawn five times a second on a terminal, else as a
/// line every ten seconds.
struct WalkProgress {
    private let verb: String
    private let total: Int?
    private let interval: Duration
    private var files = 0
    private var shown = ContinuousClock.now
    private var isOnLine = false

    /// - Parameters:
    ///   - verb: the text after the count: `files read`.
    ///   - total: the expected number of files; nil when unknown.
    init(_ verb: String, of total: Int? = nil) {
        self.verb = verb
        self.total = total
        interval = Console.isTerminal(STDERR_FILENO) ? .milliseconds(200) : .seconds(10)
    }

    /// Counts one file.
    mutating func count(_ note: @autoclosure () -> String = "") {
        files += 1
        // Reading the clock for each of a million files would take longer than listing them.
        guard files & 255 == 0 || (files & 15 == 0 && total.map { $0 < 5000 } == true) else { return }
        let now = ContinuousClock.now
        guard now - shown >= interval else { return }
        shown = now
        let isTerminal = Console.isTerminal(STDERR_FILENO)
        let text = Self.line(files, of: total, verb, width: isTerminal ? 30 : 0) + note()
        Console.noteRaw(isTerminal ? "\r\u{1B}[K" + text : text + "\n")
        isOnLine = isTerminal
    }

    /// Clears the line.
    mutating func end() {
        if isOnLine { Console.noteRaw("\r\u{1B}[K") }
        isOnLine = false
    }

    /// `[#####.....] 50% 5/10 files read`; without the bar when `width` is 0, and without the share when the total is
    /// unknown. Files beyond the total, stored meanwhile, extend it.
    static func line(_ files: Int, of total: Int?, _ verb: String, width: Int) -> String {
        guard let total, total > 0 else { return "\(files) \(verb)" }
        let all = max(total, files)
        let filled = files * width / all
        let bar = "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "] "
        return (width > 0 ? bar : "") + "\(files * 100 / all)% \(files)/\(all) \(verb)"
    }
}
