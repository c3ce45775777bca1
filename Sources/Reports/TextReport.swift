import Concurrency
package import JobQueue
import Terminal

/// A batch's report as text, safe for a terminal.
package enum TextReport {
    package static func text(_ report: BatchReport, _ findings: ReportFindings? = nil) -> String {
        let progress = report.progress
        var text = "batch \(progress.title): \(progress.stateText)\n"
        text += "  opened at: \(progress.openedAt)\n"
        if let finished = progress.finishedAt { text += "  finished at: \(finished)\n" }
        for (name, value) in numbers(report) { text += "  \(name): \(value)\n" }
        text += findings?.text ?? ""
        if !report.errors.isEmpty {
            text += "errors:\n"
            for error in report.errors {
                let advice = FailureAdvice(domain: error.domain, code: error.code, status: error.status)
                let meaning = FailureAdvice.text(domain: error.domain, code: error.code, status: error.status)
                text +=
                    "  \(error.items) × \(meaning)\n    \(PrintableText.text(advice.action(for: progress.displayName)))\n"
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

    package static func numbers(_ report: BatchReport) -> [(String, String)] {
        let progress = report.progress
        let discarded = report.discarded > 0 ? ", \(report.discarded) of them discarded" : ""
        let cached = progress.fromCache.map { [("from the cache", "\($0)")] } ?? []
        return [
            ("total", "\(progress.total)"), ("finished", "\(progress.finished)"),
            ("succeeded", "\(progress.succeeded)"), ("failed", "\(progress.failed)\(discarded)"),
            ("cancelled", "\(progress.cancelled)"), ("downloads", "\(progress.downloads)"),
        ] + cached + [
            ("variants", "\(progress.variants)"), ("bytes in", ByteCount(progress.bytesIn).text),
            ("bytes out", ByteCount(progress.bytesOut).text),
            ("elapsed", "\(Double(progress.elapsed.milliseconds) / 1000) s"),
            ("rate", "\((progress.rate * 10).rounded() / 10)/s"),
        ]
    }
}

package enum ReportFormat: String, CaseIterable {
    case text, json, html, csv
}
