import Glibc
import JobQueue

/// Prints the progress of batches on standard output.
struct StatusView {
    let json: Bool
    let isTerminal: Bool
    let read: () async throws -> [BatchProgress]

    /// Prints the batches once; true when one is open and the output is text.
    func show() async throws -> Bool {
        let batches = try await read()
        for batch in batches { Console.write(try text(batch)) }
        return !json && batches.contains { !$0.isOver }
    }

    /// Prints the batches until all are over: lines that are redrawn on a terminal, elsewhere each batch that changed.
    func follow(interval: Duration) async throws {
        var last: [Int64: String] = [:]
        var drawn = 0
        while true {
            let batches = try await read()
            let texts = try batches.map { ($0.id, try text($0)) }
            if isTerminal && !json {
                let lines = Self.visible(texts.map(\.1).joined())
                // Moves to the first drawn line and clears what is below.
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

    private func text(_ batch: BatchProgress) throws -> String {
        json ? try JSONLine.text(batch.json) + "\n" : ProgressText.status(batch, width: isTerminal ? 30 : 0)
    }

    /// The lines of `page`, cut to the size of the terminal: lines that have scrolled away cannot be redrawn.
    private static func visible(_ page: String) -> [String] {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 1 && size.ws_col > 0
        let (rows, columns) = isKnown ? (Int(size.ws_row), Int(size.ws_col)) : (24, 80)
        return page.split(separator: "\n").prefix(rows - 1).map { String($0.prefix(columns)) }
    }
}
