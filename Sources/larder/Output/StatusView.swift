import Concurrency
import Glibc
import JobQueue

/// Prints the progress of batches on standard output.
struct StatusView {
    /// A batch, and its database when there are several.
    struct Line {
        let database: String?
        let batch: BatchProgress

        /// Numbers of batches are those of a database.
        var id: String { "\(batch.id) \(database ?? "")" }
    }

    let json: Bool
    let isTerminal: Bool
    /// Why jobs wait, below the batches; not in JSON and not where lines are not redrawn.
    var waits: () async throws -> [String] = { [] }
    let read: () async throws -> [Line]

    /// Prints the batches once; true when one is open and the output is text.
    func show() async throws -> Bool {
        let lines = try await read()
        for line in lines { Console.write(try text(line)) }
        return !json && lines.contains { !$0.batch.isOver }
    }

    /// Prints the batches until all are over: lines that are redrawn on a terminal, elsewhere each batch that changed.
    func follow(interval: Duration) async throws {
        var last: [String: String] = [:]
        var rates: [String: RecentRate] = [:]
        var drawn = 0
        let waiting = ThreadPool(name: "status", threads: 1)
        while true {
            let batches = try await read()
            let texts = try batches.map { line in
                let rate = rates[line.id, default: RecentRate()].update(line.batch.finished, at: .now)
                return (line.id, try text(line, rate: rate))
            }
            if isTerminal && !json {
                let page = texts.map(\.1) + (try await waits()).prefix(10).map { PrintableText.text($0) + "\n" }
                let lines = Self.visible(page.joined())
                // Moves to the first drawn line and clears what is below.
                Console.write((drawn > 0 ? "\u{1B}[\(drawn)A\u{1B}[J" : "") + lines.map { $0 + "\n" }.joined())
                drawn = lines.count
            } else {
                for (batch, text) in texts where last[batch] != text { Console.write(text) }
            }
            last = Dictionary(texts) { first, _ in first }
            if batches.allSatisfy(\.batch.isOver) { return }
            // Nothing may be written for long, which would show that the reader has ended.
            if await waiting.run({ Console.readerEnds(within: interval) }) { return Console.endAsUnread() }
        }
    }

    private func text(_ line: Line, rate: Double? = nil) throws -> String {
        if json { return try JSONLine.text(line.batch.json.of(line.database)) + "\n" }
        let column = line.database.map { "\($0)  " } ?? ""
        let width = isTerminal ? Console.columns(STDOUT_FILENO) - TerminalCells.count(column) : nil
        return column + ProgressText.status(line.batch, rate: rate, width: width)
    }

    /// The lines of `page`, cut to the size of the terminal: lines that have scrolled away cannot be redrawn.
    private static func visible(_ page: String) -> [String] {
        let (rows, columns) = Console.size(STDOUT_FILENO)
        return page.split(separator: "\n").prefix(rows - 1).map { TerminalCells.shortened(String($0), columns) }
    }
}
