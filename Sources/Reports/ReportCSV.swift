import CCSV
import ImageModel
package import JobQueue
import Terminal

/// Batch records as CSV (RFC 4180): a line per stored file or failed variant, and one per image without any.
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

/// CSV lines (RFC 4180), by libcsv.
enum CSVWriter {
    /// Quotes the fields, except empty ones. Escapes control characters. A text that a spreadsheet would run as a
    /// formula gets an apostrophe.
    static func line(_ fields: [String]) -> String { fields.map { quoted(safe($0)) }.joined(separator: ",") + "\r\n" }

    private static func safe(_ field: String) -> String {
        let text = PrintableText.text(field)
        guard let first = text.utf8.first, "=+-@".utf8.contains(first), Int(text) == nil else { return text }
        return "'" + text
    }

    private static func quoted(_ field: String) -> String {
        var field = field
        return field.withUTF8 { bytes in
            // Each quote is doubled.
            String(unsafeUninitializedCapacity: 2 * bytes.count + 2) { room in
                csv_write(room.baseAddress, room.count, bytes.baseAddress, bytes.count)
            }
        }
    }
}
