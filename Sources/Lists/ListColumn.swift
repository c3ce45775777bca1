import CommandLine
import Reports

/// A list column that `enqueue` reads; others are ignored, with a note if they resemble one.
enum ListColumn: String, CaseIterable, CodingKey {
    case url, priority, name, pipeline, at, meta

    /// The column named by a header field, ignoring case and blanks; nil for none.
    init?(header field: String) {
        self.init(rawValue: field.lowercased().filter { $0 != "\"" && !$0.isWhitespace })
    }

    /// A header's columns, nil for unknown ones; nil if it does not name `url`.
    static func header(_ fields: [String]) -> [ListColumn?]? {
        let columns = fields.map(ListColumn.init(header:))
        return columns.contains(.url) ? columns : nil
    }

    /// Whether a first record without `url` is still a header: a URL has a colon or slash.
    static func isHeader(_ fields: [String]) -> Bool {
        !fields.joined().isEmpty && fields.allSatisfy { !$0.contains(":") && !$0.contains("/") }
    }

    /// The column that a header without `url` most likely means by it; nil for none.
    static func nearestToURL(_ fields: [String]) -> String? {
        fields.first { $0.lowercased().contains("url") } ?? NearestWord.to("url", among: fields.map { $0.lowercased() })
    }

    /// The column that an unknown name most likely means: `priority` for `priorty` and `prio`.
    ///
    /// - Parameter given: the other names, whose columns are not meant.
    static func nearest(to name: String, given: Set<String>) -> String? {
        let word = name.lowercased()
        // Too many words, such as alt, are near to at.
        let columns = allCases.filter { $0 != .at && !given.contains($0.rawValue) }.map(\.rawValue)
        let isShort = (3...).contains(word.utf8.count)
        return NearestWord.to(word, among: columns) ?? columns.first { isShort && $0.hasPrefix(word) }
    }
}

/// Names of columns or JSON fields that resemble a column but are none.
struct MisspeltColumns {
    /// Maximum names checked: each object of a list may have others.
    private static let most = 1_000

    private var seen: Set<String> = []
    /// One line for each found since the last `take`.
    private var notes: [String] = []

    /// Checks the names of one record.
    mutating func add(_ names: [String]) {
        guard seen.count < Self.most else { return }
        let new = names.filter { ListColumn(rawValue: $0) == nil && !seen.contains($0) }
        guard !new.isEmpty else { return }
        let given = Set(names)
        for name in new.sorted() where seen.insert(name).inserted {
            guard let near = ListColumn.nearest(to: name, given: given) else { continue }
            notes.append("'\(FailureLine.cut(name))' is no column and is ignored; did you mean '\(near)'?")
        }
    }

    mutating func take() -> [String] {
        defer { notes = [] }
        return notes
    }
}
