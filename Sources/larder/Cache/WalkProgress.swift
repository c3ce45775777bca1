import Glibc

/// Progress of a walk of unknown length: a count, redrawn on a terminal, now and then a line elsewhere.
struct WalkProgress {
    private let verb: String
    private let interval: Duration
    private var files = 0
    private var shown = ContinuousClock.now
    private var isOnLine = false

    /// - Parameter verb: what stands behind the count: `files seen`.
    init(_ verb: String) {
        self.verb = verb
        interval = Console.isTerminal(STDERR_FILENO) ? .milliseconds(200) : .seconds(10)
    }

    /// One more.
    mutating func count(_ note: @autoclosure () -> String = "") {
        files += 1
        // The clock is not asked for each of a million files.
        guard files & 255 == 0 else { return }
        let now = ContinuousClock.now
        guard now - shown >= interval else { return }
        shown = now
        let text = "\(files) \(verb)" + note()
        Console.noteRaw(Console.isTerminal(STDERR_FILENO) ? "\r\u{1B}[K" + text : text + "\n")
        isOnLine = Console.isTerminal(STDERR_FILENO)
    }

    /// Takes the line away.
    mutating func end() {
        if isOnLine { Console.noteRaw("\r\u{1B}[K") }
        isOnLine = false
    }
}
