import Glibc
import JobQueue

/// Follows the newest batches on standard output until all are over: a list that is redrawn on a terminal, else what
/// has changed, one batch a line.
struct BatchesWatch {
    let queue: PostgresJobQueue
    /// Between two looks.
    let interval: Duration
    let json: Bool
    let isTerminal: Bool

    /// How many batches.
    static let most = 100

    func follow() async throws {
        var last: [Int64: String] = [:]
        var drawn = 0
        while true {
            let batches = try await queue.progress(limit: Self.most)
            let texts = try batches.map {
                ($0.id, json ? try JSONLine.text(ReportJSON($0)) + "\n" : StatusText.text($0))
            }
            if isTerminal && !json {
                let lines = Self.fitting(texts.map(\.1).joined())
                // Up to the first line drawn, and away with what is below.
                Console.write((drawn > 0 ? "\u{1B}[\(drawn)A\u{1B}[J" : "") + lines.map { $0 + "\n" }.joined())
                drawn = lines.count
            } else {
                for (batch, text) in texts where last[batch] != text { Console.write(text) }
            }
            last = Dictionary(texts) { first, _ in first }
            if batches.allSatisfy(\.isOver) { return }
            try await Task.sleep(for: interval)
        }
    }

    /// The lines of a page, cut to what the terminal shows at once: what has scrolled away cannot be redrawn.
    private static func fitting(_ page: String) -> [String] {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 1 && size.ws_col > 0
        let (rows, columns) = isKnown ? (Int(size.ws_row), Int(size.ws_col)) : (24, 80)
        return page.split(separator: "\n").prefix(rows - 1).map { String($0.prefix(columns)) }
    }
}
