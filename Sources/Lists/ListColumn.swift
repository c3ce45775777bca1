import CommandLine
import Reports

/// A column of a list that `enqueue` reads; others are ignored, with a note where they resemble one.
enum ListColumn: String, CaseIterable, CodingKey {
    case url, priority, name, pipeline, at, meta

    /// The column that a field of a header names, with any case and blanks; nil for none.
    init?(header field: String) {
        self.init(rawValue: field.lowercased().filter { $0 != "\"" && !$0.isWhitespace })
    }

    /// The columns that a header names, nil for those it does not; nil when it does not name `url`.
    static func header(_ fields: [String]) -> [ListColumn?]? {
        let columns = fields.map(ListColumn.init(header:))
        return columns.contains(.url) ? columns : nil
    }

    /// Whether a first record that names no `url` is a header all the same: a URL has a colon or a slash.
    static func isHeader(_ fields: [String]) -> Bool {
        !fields.joined().isEmpty && fields.allSatisfy { !$0.contains(":") && !$0.contains("/") }
    }

    /// The column that a header without `url` most likely means by it; nil for none.
    static func nearestToURL(_ fields: [String]) -> String? {
        fields.first { $0.lowercased().contains("url") } ?? NearestWord.to("url", among: fields.map { $0.lowercased() })
    }

    /// The column that an unknown name most likely means: `priority` for `priorty` and `prio`.
    ///
    /// - Parameter given: the other names; a column that is among them is not meant.
    static func nearest(to name: String, given: Set<String>) -> String? {
        let word = name.lowercased()
        // Too many words, such as alt, are near to at.
        let columns = allCases.filter { $0 != .at && !given.contains($0.rawValue) }.map(\.rawValue)
        let isShort = (3...).contains(word.utf8.count)
        return NearestWord.to(word, among: columns) ?? columns.first { isShort && $0.hasPrefix(word) }
    }
}

/// The names of a list's columns, or of the fields of its JSON, that resemble a column and are none.
struct MisspeltColumns {
    /// The most names that are looked at: each object of a list may have others.
    private static let most = 1_000

    private var seen: Set<String> = []
    /// A line about each that was found since the last `take`.
    private var notes: [String] = []

    /// Looks at the names of one record.
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
