import CCSV

/// libcsv, fed line by line.
package struct CSVParser: ~Copyable {
    private final class Record {
        var fields: [String] = []
        var isComplete = false
    }

    private let parser: UnsafeMutablePointer<csv_parser>
    private let record = Record()
    private let delimiter: UInt8

    /// - Parameter delimiter: a comma or a tab.
    package init(delimiter: UInt8) {
        self.delimiter = delimiter
        parser = .allocate(capacity: 1)
        begin()
    }

    deinit {
        csv_free(parser)
        parser.deallocate()
    }

    /// The fields of a record ending with this line; nil if a quoted field continues on the next line.
    ///
    /// - Throws: `CSVError` for a misplaced quote (`csv_parse` in strict mode); a new record then begins.
    package mutating func add(_ line: ArraySlice<UInt8>) throws(CSVError) -> [String]? {
        let context = Unmanaged.passUnretained(record).toOpaque()
        let bytes = line + [UInt8(ascii: "\n")]
        let count = bytes.withUnsafeBytes {
            csv_parse(
                parser, $0.baseAddress, $0.count,
                { text, length, context in
                    guard let context else { return }
                    let field = UnsafeRawBufferPointer(start: text, count: text == nil ? 0 : length)
                    Unmanaged<Record>.fromOpaque(context).takeUnretainedValue().fields
                        .append(String(decoding: field, as: UTF8.self))
                },
                { _, context in
                    guard let context else { return }
                    Unmanaged<Record>.fromOpaque(context).takeUnretainedValue().isComplete = true
                }, context)
        }
        guard count == bytes.count else {
            restart()
            throw CSVError()
        }
        guard record.isComplete else { return nil }
        defer { clear() }
        return record.fields
    }

    package mutating func restart() {
        csv_free(parser)
        begin()
        clear()
    }

    private func begin() {
        // In TSV a quote is literal unless a field begins with one.
        csv_init(parser, delimiter == UInt8(ascii: "\t") ? 0 : UInt8(CSV_STRICT))
        csv_set_delim(parser, delimiter)
    }

    private func clear() {
        record.fields = []
        record.isComplete = false
    }
}

/// A misplaced quote.
package struct CSVError: Error {}
