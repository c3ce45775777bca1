import ImageModel
package import JobQueue

/// The records of batches as CSV (RFC 4180): a line per stored file or failed variant, and one for an image without.
package enum ReportCSV {
    package static let header =
        CSVWriter.line([
            "batch", "url", "outcome", "variant", "key", "path", "format", "width", "height", "bytes", "domain", "code",
            "message", "attempts", "meta", "meaning", "action",
        ])

    package static func lines(_ record: StoredRecord, of batch: BatchProgress) -> String {
        let start = [batch.displayName, ShownURL.masked(record.url), record.outcome.rawValue]
        func end(_ reason: FailureReason?) -> [String] {
            let advice = reason.map { FailureAdvice(domain: $0.domain, code: $0.code, status: record.httpStatus) }
            return [
                "\(record.attempts)", record.meta ?? "", advice?.meaning ?? "",
                advice?.action(for: batch.displayName) ?? "",
            ]
        }
        func error(_ reason: FailureReason?) -> [String] {
            reason.map { [$0.domain, "\($0.code)", $0.message] } ?? ["", "", ""]
        }
        guard !record.stored.isEmpty else {
            return CSVWriter.line(start + ["", "", "", "", "", "", ""] + error(record.error) + end(record.error))
        }
        var text = ""
        for file in record.stored {
            let failed = file.error ?? (file.path == nil ? record.error : nil)
            text += CSVWriter.line(
                start + [
                    file.name ?? "original", ShownURL.masked(file.key), file.path ?? "", file.format ?? "",
                    file.width.map(String.init) ?? "", file.height.map(String.init) ?? "",
                    file.bytes.map(String.init) ?? "",
                ] + error(failed) + end(failed))
        }
        return text
    }
}
