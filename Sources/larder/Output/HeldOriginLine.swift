import Foundation
import JobQueue

/// An origin that all workers leave alone, as the last words of a command whose work waits for it.
enum HeldOriginLine {
    /// The lines of all origins whose jobs are put off just now.
    static func all(in queue: PostgresJobQueue, now: Date = .now) async throws(QueueError) -> [String] {
        try await queue.heldOrigins().compactMap { text($0, now: now) }
    }

    /// Nil for one whose jobs are handed out: it is given up, or a probe is due.
    static func text(_ held: HeldOrigin, now: Date) -> String? {
        guard !held.isGivenUp, held.remaining > .zero else { return nil }
        let until = now.addingTimeInterval(Double(held.remaining.components.seconds))
        return "origin \(held.origin) is held until \(until.ISO8601Format()) (\(held.reason.rawValue)), its jobs come "
            + "back after that; 'larder origin list' shows all"
    }
}
