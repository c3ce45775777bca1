import CCSV
import Terminal

/// Lines of CSV (RFC 4180), by libcsv.
enum CSVWriter {
    /// The fields in quotes, an empty one without. Control characters are shown as their codes. A text that a
    /// spreadsheet would run as a formula begins with an apostrophe.
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
