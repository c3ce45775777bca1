import Reports
package import Terminal

/// Reads the items of one list in constant memory.
package final class ListReader {
    /// Maximum lines of one CSV record.
    private static let longestRecord = 100

    private let name: String
    private let options: TableOptions
    private var lines: LineReader
    private var format: ListFormat?
    private var parser = CSVParser(delimiter: UInt8(ascii: ","))
    /// Nil before a table's first record.
    private var columns: [ListColumn?]?
    /// Reads a list that is one document.
    private var feed: FeedReader?
    private var isBegun = false
    private var misspelt = MisspeltColumns()
    /// Lines consumed by an unfinished record, to be read again, with their numbers.
    private var again: [(number: Int, text: ArraySlice<UInt8>)] = []

    /// - Parameters:
    ///   - name: used to detect the format, the path by default.
    ///   - format: nil to detect it.
    package init(
        _ path: String, named name: String? = nil, format: ListFormat?, options: TableOptions = .none,
        isStopped: @escaping @Sendable () -> Bool
    ) throws(CommandError) {
        self.name = name ?? path
        self.options = options
        self.format = format
        lines = try LineReader(path, of: self.name, isText: true, isStopped: isStopped)
        if let format, !format.isDocument { begin(format) }
    }

    /// Whether the list was stopped.
    package var wasStopped: Bool { lines.wasStopped }

    /// The last read line's number.
    package var line: Int { feed?.line ?? again.first.map { $0.number - 1 } ?? lines.number }

    /// Notes about column names since the last call.
    package func takeNotes() -> [String] { misspelt.take() }

    /// The next item, or an invalid line; nil at the end.
    package func next() async throws(CommandError) -> Result<ListItem, BadLine>? {
        if !isBegun { try await begin() }
        if let feed { return try await feed.next(of: &lines) }
        while let (number, text) = try await nextLine() {
            let trimmed = text.trimmed
            if trimmed.isEmpty || trimmed.first == UInt8(ascii: "#") { continue }
            if format == nil {
                let detected = ListFormat.detect(path: name, firstLine: trimmed)
                begin(try options.format(detected, of: shownName, firstLine: trimmed))
            }
            switch format {
            case .csv, .tsv:
                if let result = try await table(text, number) { return result }
            case .jsonl:
                guard !lines.isCut else { return .failure(Self.tooLong(number)) }
                do throws(BadLine) {
                    return .success(try JSONListLine.item(trimmed, number, &misspelt))
                } catch {
                    return .failure(error)
                }
            default:
                return .success(ListItem(url: String(decoding: trimmed, as: UTF8.self), line: number))
            }
        }
        return nil
    }

    /// Detects whether the list is one document.
    private func begin() async throws(CommandError) {
        isBegun = true
        if let format {
            if format.isDocument { feed = FeedReader(name, format) }
            return
        }
        guard ListFormat.named(name) == nil else { return }
        let text = String(decoding: try await lines.beginning(), as: UTF8.self).drop(while: \.isWhitespace)
        if text.first == "<" {
            let start = text.prefix(20).lowercased()
            guard !start.hasPrefix("<!doctype html"), !start.hasPrefix("<html") else {
                throw .larder(.badLine, "\(name == "-" ? "standard input" : name): \(FeedParser.html)")
            }
            feed = FeedReader(name, nil)
        } else if text.first == "{", text.contains("\"version\""), text.contains("jsonfeed.org") {
            feed = FeedReader(name, .jsonfeed)
        }
    }

    private func begin(_ format: ListFormat) {
        self.format = format
        isBegun = true
        let usual = format == .tsv ? UInt8(ascii: "\t") : UInt8(ascii: ",")
        parser = CSVParser(delimiter: options.delimiter ?? usual)
    }

    private func nextLine() async throws(CommandError) -> (Int, ArraySlice<UInt8>)? {
        if !again.isEmpty { return again.removeFirst() }
        guard let text = try await lines.nextWhole() else { return nil }
        return (lines.number, text)
    }

    /// The item of the record beginning with a line; nil for a header.
    ///
    /// A record still incomplete after some lines ends with its first line: the others are read again, so that a stray
    /// quote costs one line.
    private func table(
        _ first: ArraySlice<UInt8>, _ number: Int
    ) async throws(CommandError) -> Result<ListItem, BadLine>? {
        var record = [(number: number, text: first)]
        var size = 0
        while true {
            guard let (_, text) = record.last else { return nil }
            size += text.count
            guard size < LineReader.longest else { return giveUp(record, Self.tooLong(number)) }
            let complete: [String]?
            do throws(CSVError) {
                complete = try parser.add(text)
            } catch {
                return giveUp(record, BadLine(line: number, message: "a quote is in the wrong place"))
            }
            if let complete { return try item(complete, number) }
            guard record.count < Self.longestRecord, let next = try await nextLine() else {
                return giveUp(record, BadLine(line: number, message: "a quoted field does not end"))
            }
            record.append(next)
        }
    }

    private func giveUp(
        _ record: [(number: Int, text: ArraySlice<UInt8>)], _ bad: BadLine
    ) -> Result<ListItem, BadLine> {
        parser.restart()
        again = Array(record.dropFirst()) + again
        return .failure(bad)
    }

    private func item(
        _ fields: [String], _ number: Int
    ) throws(CommandError) -> Result<ListItem, BadLine>? {
        if columns == nil, let found = try options.columns(fields, of: "\(shownName):\(number)") {
            columns = found.columns
            if let names = found.names {
                misspelt.add(names)
                return nil
            }
        } else if columns == nil {
            columns = ListColumn.header(fields)
            if columns != nil {
                misspelt.add(fields.map { $0.filter { !$0.isWhitespace }.lowercased() })
                return nil
            }
            guard !ListColumn.isHeader(fields) else { throw noURL(fields, number) }
            columns = [.url]
        }
        var named: [ListColumn: String] = [:]
        for (column, field) in zip(columns ?? [], fields) {
            if let column, named[column] == nil { named[column] = field }
        }
        return Result { () throws(BadLine) in try ListItem(named, line: number) }
    }

    /// The error about a header without `url`: every line would be a bad URL.
    private func noURL(_ fields: [String], _ number: Int) -> CommandError {
        let isOther = fields.count == 1 && fields[0].contains(";")
        let separator =
            isOther ? "; its columns are separated by semicolons, not commas; --delimiter ';' reads it" : nil
        let near = ListColumn.nearestToURL(fields).map { "; the nearest is '\(FailureLine.cut($0))'" }
        let names = "; it has " + fields.prefix(5).map { "'\(FailureLine.cut($0))'" }.joined(separator: ", ")
        let remedy = isOther ? "" : "; --column NAME reads the URLs of another column"
        return .larder(
            .badLine, "\(shownName):\(number): the header has no column url" + (separator ?? near ?? names) + remedy)
    }

    private var shownName: String { name == "-" ? "standard input" : name }

    private static func tooLong(_ number: Int) -> BadLine {
        BadLine(line: number, message: "longer than \(LineReader.longest) bytes")
    }
}
