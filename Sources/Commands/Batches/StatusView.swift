import Concurrency
import Glibc
import JobQueue
import Reports
import Terminal

/// Prints the progress of batches on standard output.
struct StatusView {
    let json: Bool
    let isTerminal: Bool
    /// Why jobs wait, shown below the batches; omitted in JSON and where lines are not redrawn.
    var waits: () async throws -> [String] = { [] }
    let read: () async throws -> [BatchProgress]

    /// Prints the batches once; true if one is open and the output is text.
    func show() async throws -> Bool {
        let batches = try await read()
        for batch in batches { Console.write(try text(batch)) }
        return !json && batches.contains { !$0.isOver }
    }

    /// Prints the batches until all are over: redrawn on a terminal, elsewhere only batches that changed.
    func follow(interval: Duration) async throws {
        var last: [Int64: String] = [:]
        var rates: [Int64: RecentRate] = [:]
        var drawn = 0
        let waiting = ThreadPool(name: "status", threads: 1)
        while true {
            let batches = try await read()
            let texts = try batches.map { batch in
                let rate = rates[batch.id, default: RecentRate()].update(batch.finished, at: .now)
                return (batch.id, try text(batch, rate: rate))
            }
            if isTerminal && !json {
                let page = texts.map(\.1) + (try await waits()).prefix(10).map { PrintableText.text($0) + "\n" }
                let lines = Self.visible(page.joined())
                // Moves to the first drawn line and clears everything below.
                Console.write((drawn > 0 ? "\u{1B}[\(drawn)A\u{1B}[J" : "") + lines.map { $0 + "\n" }.joined())
                drawn = lines.count
            } else {
                for (batch, text) in texts where last[batch] != text { Console.write(text) }
            }
            last = Dictionary(texts) { first, _ in first }
            if batches.allSatisfy(\.isOver) { return }
            // A write would detect the end of the reader, but none may happen for long.
            if await waiting.run({ Console.readerEnds(within: interval) }) { return Console.endAsUnread() }
        }
    }

    private func text(_ batch: BatchProgress, rate: Double? = nil) throws -> String {
        if json { return try JSONLine.text(batch.json) + "\n" }
        return ProgressText.status(batch, rate: rate, width: isTerminal ? Console.columns(STDOUT_FILENO) : nil)
    }

    /// The lines of `page` that fit the terminal: lines that scrolled away cannot be redrawn.
    private static func visible(_ page: String) -> [String] {
        let (rows, columns) = Console.size(STDOUT_FILENO)
        return page.split(separator: "\n").prefix(rows - 1).map { TerminalCells.shortened(String($0), columns) }
    }
}
