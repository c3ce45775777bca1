import JobQueue

extension BatchProgress {
    /// Whether nothing of it will change any more, unless somebody retries.
    var isOver: Bool { state == .finished || state == .cancelled }

    /// As people call it: by its name, by its number where it has none.
    var called: String { name ?? "\(id)" }

    /// For people, so that they see both: `spring (7)`, `7`.
    var title: String { Self.title(name, id) }

    /// The title of a batch by its name, if any, and number.
    static func title(_ name: String?, _ id: Int64) -> String { name.map { "\($0) (\(id))" } ?? "\(id)" }
}

/// A batch after something was done to it.
struct BatchLine: Encodable {
    let batch: String
    let batchID: Int64
    let state: String
    let open: Int
    var cancelled: Int?
    var retried: Int?
    var dropped: Int?
    var priority: Int?
    var jobs: Int?

    init(_ progress: BatchProgress) {
        batch = progress.called
        batchID = progress.id
        state = progress.state.rawValue
        open = progress.open
    }
}
