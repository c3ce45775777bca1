import Concurrency
import ImageModel
import JobQueue

/// The records of batches as JUnit's XML, for systems that show the results of tests: a suite per batch, a case per
/// image.
enum ReportJUnit {
    static let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"larder\">\n"
    static let suiteEnd = "</testsuite>\n"
    static let end = "</testsuites>\n"

    static func suiteStart(_ batch: BatchProgress) -> String {
        let seconds = Double(batch.elapsed.milliseconds) / 1000
        return "<testsuite name=\"\(escaped(batch.title))\" tests=\"\(batch.finished)\" failures=\"\(batch.failed)\" "
            + "errors=\"0\" skipped=\"\(batch.cancelled)\" time=\"\(seconds)\" timestamp=\"\(escaped(batch.openedAt))\">\n"
    }

    /// The causes of failures, quantiles of the stages in ms, and bytes.
    static func properties(_ findings: ReportFindings) -> String {
        let statistics = findings.statistics
        var properties: [(String, String)] = []
        for stage in statistics.stages {
            for (name, value) in [("p50", stage.p50), ("p95", stage.p95), ("p99", stage.p99)] {
                if let value { properties.append(("\(stage.stage).\(name)Ms", "\(value)")) }
            }
        }
        for cause in statistics.causes {
            properties.append(
                ("failed.\(cause.domain) \(cause.code)\(cause.status.map { " \($0)" } ?? "")", "\(cause.items)"))
        }
        for size in statistics.variants { properties.append(("bytes.\(size.name)", "\(size.bytes)")) }
        if let previous = findings.previous {
            properties.append(("previous.newlyFailed", "\(previous.changes.newlyFailed)"))
            properties.append(("previous.fixed", "\(previous.changes.fixed)"))
        }
        guard !properties.isEmpty else { return "" }
        return "<properties>\n"
            + properties.map { "<property name=\"\(escaped($0.0))\" value=\"\(escaped($0.1))\"/>\n" }.joined()
            + "</properties>\n"
    }

    /// A case per item that ended with the record, so that the cases are as many as `tests`.
    static func testCase(_ record: StoredRecord, of batch: BatchProgress) -> String {
        var text =
            "<testcase classname=\"\(escaped(batch.displayName))\" name=\"\(escaped(ShownURL.masked(record.url)))\""
        switch record.outcome {
        case .succeeded: text += "/>\n"
        case .cancelled: text += "><skipped message=\"cancelled\"/></testcase>\n"
        case .failed:
            let reasons = ([record.error] + record.stored.map(\.error)).compactMap(\.self)
            let first = reasons.first
            text += "><failure type=\"\(escaped(first.map { "\($0.domain) \($0.code)" } ?? "unknown"))\" "
            text += "message=\"\(escaped(first?.message ?? ""))\">"
            text += escaped(reasons.map(\.text).joined(separator: "; "))
            if let first {
                let advice = FailureAdvice(domain: first.domain, code: first.code, status: record.httpStatus)
                text += "\n" + escaped("\(advice.meaning). \(advice.action)")
            }
            text += "</failure></testcase>\n"
        }
        return String(repeating: text, count: max(1, record.items))
    }

    /// XML has no form for most control characters and for U+FFFE and U+FFFF.
    private static func escaped(_ text: String) -> String {
        var clean = ""
        for scalar in text.unicodeScalars {
            clean.unicodeScalars.append(scalar.value == 0xFFFE || scalar.value == 0xFFFF ? "\u{FFFD}" : scalar)
        }
        return HTML.escaped(clean)
    }
}
