import CCSV

/// Lines of CSV (RFC 4180), by libcsv.
enum CSVWriter {
    /// The fields in quotes, an empty one without.
    static func line(_ fields: [String]) -> String { fields.map(quoted).joined(separator: ",") + "\r\n" }

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
