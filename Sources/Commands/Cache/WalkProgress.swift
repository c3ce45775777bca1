import Glibc
import Terminal

/// Shows a file command's progress on standard error: redrawn five times a second on a terminal, else a line every ten
/// seconds.
struct WalkProgress {
    private let verb: String
    private let total: Int?
    private let interval: Duration
    private var files = 0
    private var shown = ContinuousClock.now
    private var isOnLine = false
    private var rate = RecentRate()

    /// - Parameters:
    ///   - verb: the text after the count: `files read`.
    ///   - total: the expected number of files; nil if unknown.
    init(_ verb: String, of total: Int? = nil) {
        self.verb = verb
        self.total = total
        interval = Console.isTerminal(STDERR_FILENO) ? .milliseconds(200) : .seconds(10)
    }

    mutating func count(_ note: @autoclosure () -> String = "") {
        files += 1
        // Reading the clock for each of a million files would take longer than listing them.
        guard files & 255 == 0 || (files & 15 == 0 && total.map { $0 < 5000 } == true) else { return }
        let now = ContinuousClock.now
        guard now - shown >= interval else { return }
        shown = now
        isOnLine = Console.isTerminal(STDERR_FILENO)
        var line = ProgressLine(done: files, total: total.flatMap { $0 > 0 ? $0 : nil }, unit: verb)
        line.rate = rate.update(files, at: now)
        let more = note()
        if !more.isEmpty { line.notes.append(more) }
        let text = line.text(width: isOnLine ? Console.columns(STDERR_FILENO) : nil)
        if isOnLine { Console.progress(text) } else { Console.note(text) }
    }

    mutating func end() {
        if isOnLine { Console.progress(nil) }
        isOnLine = false
    }
}
