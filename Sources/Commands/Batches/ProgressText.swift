import Concurrency
import JobQueue
import Reports
import Terminal

enum ProgressText {
    /// `spring (7): running, 50% 5/10, 1 failed, p50 12.5 ms, p95 80.0 ms, 2.5/s, 2s left`, and a line with the errors.
    /// A batch that is over shows its duration instead of the time left.
    ///
    /// - Parameters:
    ///   - rate: items per second; by default since the batch was opened.
    ///   - width: columns; nil for a line that is not cut and has no bar.
    static func status(_ progress: BatchProgress, rate: Double? = nil, width: Int? = nil) -> String {
        var line = line(progress, rate: rate ?? progress.rate, reasons: [])
        // The state already precedes the line.
        line.notes.removeAll { $0 == "paused" || progress.state == .finished && $0.hasSuffix(" failed") }
        if let p50 = progress.p50, let p95 = progress.p95 { line.notes.append("p50 \(p50) ms, p95 \(p95) ms") }
        if progress.isOver, let duration = progress.duration {
            line.notes.append("took \(ProgressLine.time(Int(duration.seconds.rounded(.up))))")
            if progress.rate > 0 { line.rate = progress.rate }
        }
        let head = head(progress, before: line, width: width)
        var text = head + line.text(width: width.map { max(0, $0 - TerminalCells.count(head)) }) + "\n"
        if let errors = errors(progress) { text += "  errors: \(errors)\n" }
        return text
    }

    /// `spring (7): running, `. On a narrow terminal it drops who paused the batch, then shortens the name to no less
    /// than eight cells if the counts fit.
    private static func head(_ progress: BatchProgress, before line: ProgressLine, width: Int?) -> String {
        let state = progress.stateText
        let pause = progress.pause.map { " since \($0.since)" + ($0.by.map { " by \(PrintableText.text($0))" } ?? "") }
        let whole = "\(progress.title): \(state)\(progress.state == .paused ? pause ?? "" : ""), "
        let numbers = TerminalCells.count(line.numbers)
        guard let width, TerminalCells.count(whole) + numbers > width else { return whole }
        guard let name = progress.name.map(PrintableText.text) else { return "\(progress.title): \(state), " }
        let rest = " (\(progress.id)): \(state), "
        let room = width - TerminalCells.count(rest)
        let cells = max(room - numbers, min(8, room - TerminalCells.count(line.counts)), 1)
        return TerminalCells.shortened(name, cells) + rest
    }

    /// A batch's line; `rate` is in items per second.
    static func line(_ progress: BatchProgress, rate: Double?) -> ProgressLine {
        line(progress, rate: rate, reasons: progress.topErrors)
    }

    private static func line(_ progress: BatchProgress, rate: Double?, reasons: [ErrorCount]) -> ProgressLine {
        var line = ProgressLine(done: progress.finished, total: progress.total)
        if progress.state == .paused { line.notes.append("paused") }
        if progress.failed > 0 {
            line.notes.append(failed(progress.failed, reasons.map { ($0.code, $0.items) }))
        }
        if progress.cancelled > 0 { line.notes.append("\(progress.cancelled) cancelled") }
        guard !progress.isOver, let rate, rate > 0 else { return line }
        line.rate = rate
        if progress.state != .paused, progress.open > 0 { line.secondsLeft = Int(Double(progress.open) / rate) }
        return line
    }

    /// `3 failed`; with `-v` the three most frequent codes, `3 failed (2× 2001, 1× 1001)`.
    static func failed(_ count: Int, _ codes: [(code: Int, items: Int)]) -> String {
        let common = codes.sorted { ($1.items, $0.code) < ($0.items, $1.code) }.prefix(3)
        guard !common.isEmpty, Console.showsCodes else { return "\(count) failed" }
        return "\(count) failed (" + common.map { "\($0.items)× \($0.code)" }.joined(separator: ", ") + ")"
    }

    /// `2 × The host name was not found`, most frequent first; nil without errors.
    static func errors(_ progress: BatchProgress) -> String? {
        guard !progress.topErrors.isEmpty else { return nil }
        return progress.topErrors.map { "\($0.items) × \(FailureAdvice.text(domain: $0.domain, code: $0.code))" }
            .joined(separator: ", ")
    }
}
