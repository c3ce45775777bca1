/// A column of a list that `enqueue` reads; others are ignored.
enum ListColumn: String, CodingKey {
    case url, priority, name, pipeline, at, meta

    /// The columns that a header names, nil for those it does not; nil when it does not name `url`.
    static func header(_ fields: [String]) -> [ListColumn?]? {
        let columns = fields.map { field in
            let word = field.lowercased().filter { $0 != "\"" && !$0.isWhitespace }
            return ListColumn(rawValue: word)
        }
        return columns.contains(.url) ? columns : nil
    }
}
