import Reports

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
