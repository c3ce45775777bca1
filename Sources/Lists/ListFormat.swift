/// How a list of URLs is written.
package enum ListFormat: String, CaseIterable {
    /// A URL a line.
    case lines
    /// Comma-separated values (RFC 4180).
    case csv
    /// The same with tabs.
    case tsv
    /// A JSON object a line.
    case jsonl
    /// The images of a document: of the pages of a sitemap, of the entries of a feed.
    case sitemap, rss, atom, jsonfeed

    /// Whether a list is one document.
    var isDocument: Bool { [.sitemap, .rss, .atom, .jsonfeed].contains(self) }

    /// The format of a list by its name, else by its first line that is neither empty nor a comment.
    ///
    /// Where the name does not say the format, a list is CSV or TSV only when its first line is a header that names
    /// `url`, or begins with a quote: a URL may have commas.
    static func detect(path: String, firstLine: ArraySlice<UInt8>) -> ListFormat {
        if let format = named(path) { return format }
        let line = String(decoding: firstLine, as: UTF8.self)
        if firstLine.first == UInt8(ascii: "{") { return .jsonl }
        if ListColumn.header(line.split(separator: "\t").map(String.init)) != nil, line.contains("\t") { return .tsv }
        if ListColumn.header(line.split(separator: ",").map(String.init)) != nil { return .csv }
        return firstLine.first == UInt8(ascii: "\"") ? .csv : .lines
    }

    /// The format that the name of a list says; nil for other names.
    static func named(_ path: String) -> ListFormat? {
        var name = path.lowercased()
        for suffix in [".gz", ".zst"] where name.hasSuffix(suffix) { name.removeLast(suffix.count) }
        switch name.split(separator: ".").last {
        case "csv": return .csv
        case "tsv", "tab": return .tsv
        case "jsonl", "ndjson": return .jsonl
        default: return nil
        }
    }
}
