import Glibc

/// Progress of a walk over files: redrawn on a terminal, now and then a line elsewhere; a bar where the total is known.
struct WalkProgress {
    private let verb: String
    private let total: Int?
    private let interval: Duration
    private var files = 0
    private var shown = ContinuousClock.now
    private var isOnLine = false

    /// - Parameters:
    ///   - verb: what stands behind the count: `files seen`.
    ///   - total: how many files there are, about; nil where finding out would take longer than it is worth.
    init(_ verb: String, of total: Int? = nil) {
        self.verb = verb
        self.total = total
        interval = Console.isTerminal(STDERR_FILENO) ? .milliseconds(200) : .seconds(10)
    }

    /// One more.
    mutating func count(_ note: @autoclosure () -> String = "") {
        files += 1
        // The clock is not asked for each of a million files.
        guard files & 255 == 0 || (files & 15 == 0 && total.map { $0 < 5000 } == true) else { return }
        let now = ContinuousClock.now
        guard now - shown >= interval else { return }
        shown = now
        let isTerminal = Console.isTerminal(STDERR_FILENO)
        let text = Self.line(files, of: total, verb, width: isTerminal ? 30 : 0) + note()
        Console.noteRaw(isTerminal ? "\r\u{1B}[K" + text : text + "\n")
        isOnLine = isTerminal
    }

    /// Takes the line away.
    mutating func end() {
        if isOnLine { Console.noteRaw("\r\u{1B}[K") }
        isOnLine = false
    }

    /// The text: `[#####.....] 50% 5/10 files seen`; without a bar when `width` is 0, without all that when nobody knows the
    /// total. More than the total, as somebody is storing, counts as all.
    static func line(_ files: Int, of total: Int?, _ verb: String, width: Int) -> String {
        guard let total, total > 0 else { return "\(files) \(verb)" }
        let all = max(total, files)
        let filled = files * width / all
        let bar = "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "] "
        return (width > 0 ? bar : "") + "\(files * 100 / all)% \(files)/\(all) \(verb)"
    }
}
