package import JobQueue
import Terminal

extension BatchProgress {
    /// Whether the batch is complete. It changes again only when its failures are retried.
    package var isOver: Bool { state == .finished || state == .cancelled }

    /// The name, or the number of a batch without a name.
    package var displayName: String { name ?? "\(id)" }

    /// `spring (7)`, or `7` for a batch without a name.
    package var title: String { Self.title(name, id) }

    /// For a terminal: what could move the cursor is shown as its code.
    package static func title(_ name: String?, _ id: Int64) -> String {
        name.map { "\(PrintableText.text($0)) (\(id))" } ?? "\(id)"
    }
}
