/// The format of a URL list.
package enum ListFormat: String, CaseIterable {
    /// One URL per line.
    case lines
    /// Comma-separated values (RFC 4180).
    case csv
    /// The same with tabs.
    case tsv
    /// One JSON object per line.
    case jsonl
    /// The images in a document: of a sitemap's pages or a feed's entries.
    case sitemap, rss, atom, jsonfeed

    /// Whether a list is one document.
    var isDocument: Bool { [.sitemap, .rss, .atom, .jsonfeed].contains(self) }

    /// A list's format by its name, else by its first line that is neither empty nor a comment.
    ///
    /// Without a telling name, a list is CSV or TSV only if its first line is a header with `url`, or begins with a
    /// quote, since a URL may contain commas.
    static func detect(path: String, firstLine: ArraySlice<UInt8>) -> ListFormat {
        if let format = named(path) { return format }
        let line = String(decoding: firstLine, as: UTF8.self)
        if firstLine.first == UInt8(ascii: "{") { return .jsonl }
        if ListColumn.header(line.split(separator: "\t").map(String.init)) != nil, line.contains("\t") { return .tsv }
        if ListColumn.header(line.split(separator: ",").map(String.init)) != nil { return .csv }
        return firstLine.first == UInt8(ascii: "\"") ? .csv : .lines
    }

    /// The format given by a list's name; nil for other names.
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
