package import CommandLine
import Reports
package import Terminal

/// Options of CSV and TSV lists: the URL column and the delimiter.
package struct TableOptions {
    private enum Column {
        case name(String)
        /// From 0.
        case place(Int)
    }

    /// A table's columns, found in its first record.
    struct Columns {
        /// Nil for ignored columns.
        let columns: [ListColumn?]
        /// A header's names in lower case, for notes about misspelt ones; nil without a header.
        let names: [String]?
    }

    package static let options = [
        Option(
            "column", .value("NAME|NUMBER"),
            "the column of CSV and TSV lists that has the URLs, by its name in the header or its number from 1; default: url"
        ),
        Option(
            "delimiter", .value("CHAR"),
            "what separates the columns of CSV lists, such as ';', or tab; default: a comma, and a tab in TSV"),
    ]

    /// No options: the column `url`.
    package static let none = TableOptions()

    let delimiter: UInt8?
    private let column: Column?

    private init() { (delimiter, column) = (nil, nil) }

    /// - Throws: wrong usage for a delimiter that is not one character, for the number 0, and with a `--format` without
    ///   columns.
    package init(_ arguments: Arguments, _ format: ListFormat?) throws(CommandError) {
        delimiter = try arguments.value("delimiter").map { (text) throws(CommandError) in
            if text == "tab" || text == "\\t" { return UInt8(ascii: "\t") }
            guard let byte = text.utf8.first, text.utf8.count == 1, byte < 0x7F, byte > 0x20 || byte == 0x09,
                byte != UInt8(ascii: "\"")
            else {
                throw .usage(
                    "\(arguments.label("delimiter")): '\(text)' is neither tab nor one ASCII character such as ';'")
            }
            return byte
        }
        column = try arguments.value("column").map { (text) throws(CommandError) in
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return .name(text) }
            guard let number = Int(text), (1...10_000).contains(number) else {
                throw .usage("\(arguments.label("column")): '\(text)' is not a column's name or number from 1 to 10000")
            }
            return .place(number - 1)
        }
        guard isGiven, let format, format != .csv, format != .tsv else { return }
        throw .usage("--column and --delimiter are for the formats csv and tsv, not \(format.rawValue)")
    }

    var isGiven: Bool { delimiter != nil || column != nil }

    /// A list's format if neither name nor first line says CSV or TSV.
    ///
    /// - Throws: wrong usage for JSON lines.
    func format(_ detected: ListFormat, of list: String, firstLine: ArraySlice<UInt8>) throws(CommandError)
        -> ListFormat
    {
        guard isGiven else { return detected }
        switch detected {
        case .csv, .tsv: return detected
        case .lines: return delimiter == nil && firstLine.contains(UInt8(ascii: "\t")) ? .tsv : .csv
        case .jsonl, .sitemap, .rss, .atom, .jsonfeed:
            throw .usage("\(list): --column and --delimiter are for CSV and TSV; this list is \(detected.rawValue)")
        }
    }

    /// The columns by the first record; nil without `--column`.
    ///
    /// - Throws: an error naming the list if it lacks the column.
    func columns(_ fields: [String], of place: String) throws(CommandError) -> Columns? {
        switch column {
        case nil: return nil
        case .name(let name):
            let names = fields.map { $0.trimmed(of: \.isWhitespace) }
            guard
                let index = names.firstIndex(of: name)
                    ?? names.firstIndex(where: { $0.lowercased() == name.lowercased() })
            else { throw Self.missing(name, names, place) }
            return Self.header(fields, index)
        case .place(let index):
            guard fields.indices.contains(index) else {
                throw .larder(
                    .badLine,
                    "\(place): there is no column \(index + 1); the line has \(fields.count.counted("column"))")
            }
            guard ListColumn.header(fields) == nil, !ListColumn.isHeader([fields[index]]) else {
                return Self.header(fields, index)
            }
            return Columns(columns: Array(repeating: nil, count: index) + [.url], names: nil)
        }
    }

    private static func header(_ fields: [String], _ index: Int) -> Columns {
        var columns = fields.map(ListColumn.init(header:))
        for other in columns.indices where columns[other] == .url { columns[other] = nil }
        columns[index] = .url
        var names = fields.map { $0.filter { !$0.isWhitespace }.lowercased() }
        names[index] = ListColumn.url.rawValue
        return Columns(columns: columns, names: names)
    }

    private static func missing(_ name: String, _ names: [String], _ place: String) -> CommandError {
        let lowered = names.map { $0.lowercased() }
        let near = NearestWord.to(name.lowercased(), among: lowered).flatMap { lowered.firstIndex(of: $0) }
        let all = names.prefix(5).map { "'\(FailureLine.cut($0))'" }.joined(separator: ", ")
        let hint = near.map { "did you mean '\(FailureLine.cut(names[$0]))'?" } ?? "it has \(all)"
        return .larder(.badLine, "\(place): the header has no column '\(FailureLine.cut(name))'; \(hint)")
    }
}
