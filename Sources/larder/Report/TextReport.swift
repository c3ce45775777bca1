import Concurrency
import JobQueue

/// The report of a batch as text, safe for a terminal.
enum TextReport {
    static func text(_ report: BatchReport, _ findings: ReportFindings? = nil) -> String {
        let progress = report.progress
        var text = "batch \(progress.title): \(progress.state.rawValue)\n"
        text += "  opened at: \(progress.openedAt)\n"
        if let finished = progress.finishedAt { text += "  finished at: \(finished)\n" }
        for (name, value) in numbers(report) { text += "  \(name): \(value)\n" }
        text += findings?.text ?? ""
        if !report.errors.isEmpty {
            text += "errors:\n"
            for (domain, code, status, items) in errors(report, findings) {
                let advice = FailureAdvice(domain: domain, code: code, status: status)
                text += "  \(items) × \(domain) \(code): \(advice.meaning)\n    \(advice.action)\n"
            }
            text += "failures:\n"
            for failure in report.failures.prefix(50) {
                let line = PrintableText.text(FailureLine.text(failure.url, failure.error))
                text += "  \(line), \(failure.attempts.counted("attempt"))\n"
            }
            if report.failures.count > 50 { text += "  ... --files --format json lists all\n" }
        }
        return text
    }

    /// By status too where the statistics are known.
    private static func errors(
        _ report: BatchReport, _ findings: ReportFindings?
    ) -> [(domain: String, code: Int, status: Int?, items: Int)] {
        guard let findings else { return report.errors.map { ($0.domain, $0.code, nil, $0.items) } }
        return findings.statistics.causes.map { ($0.domain, $0.code, $0.status, $0.items) }
    }

    /// The names and values of the counts.
    static func numbers(_ report: BatchReport) -> [(String, String)] {
        let progress = report.progress
        let discarded = report.discarded > 0 ? ", \(report.discarded) of them discarded" : ""
        return [
            ("total", "\(progress.total)"), ("finished", "\(progress.finished)"), ("skipped", "\(progress.skipped)"),
            ("succeeded", "\(progress.succeeded)"), ("failed", "\(progress.failed)\(discarded)"),
            ("cancelled", "\(progress.cancelled)"), ("downloads", "\(progress.downloads)"),
            ("variants", "\(progress.variants)"), ("bytes in", ByteCount(progress.bytesIn).text),
            ("bytes out", ByteCount(progress.bytesOut).text),
            ("elapsed", "\(Double(progress.elapsed.milliseconds) / 1000) s"),
        ]
    }
}
