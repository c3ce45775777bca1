package import JobQueue
import Terminal

extension BatchProgress {
    /// The state in words: `waiting`, `waiting for more URLs`, `running`, `paused`, `cancelled`, `finished`, `finished
    /// with 3 failed`, or `failed` if every item has failed. SQL and JSON use the queue's states.
    package var stateText: String {
        switch state {
        case .open where open == 0 && total > 0: "waiting for more URLs"
        case .open, .sealed: isStarted ? "running" : "waiting"
        case .paused, .cancelled: state.rawValue
        case .finished where failed == 0: "finished"
        case .finished: failed == total ? "failed" : "finished with \(failed.grouped) failed"
        }
    }

    /// Whether a job has ended or downloaded; items that enqueue answered immediately do not count.
    private var isStarted: Bool { finished > fresh + blocked + invalid || downloads > 0 || retries > 0 }

    /// Items whose image was cached; nil if the counts do not tell, as a failed, retried or joined item may have
    /// downloaded.
    package var fromCache: Int? {
        guard failed + retries + joined == 0, open == 0 else { return nil }
        return max(0, succeeded - downloads)
    }

    /// Whether the batch is complete. Only a retry of its failures changes it.
    package var isOver: Bool { state == .finished || state == .cancelled }

    /// The name, or the number of an unnamed batch.
    package var displayName: String { name ?? "\(id)" }

    /// `spring (7)`, or `7` for an unnamed batch.
    package var title: String { Self.title(name, id) }

    /// For a terminal: control characters are escaped.
    package static func title(_ name: String?, _ id: Int64) -> String {
        name.map { "\(PrintableText.text($0)) (\(id))" } ?? "\(id)"
    }
}
