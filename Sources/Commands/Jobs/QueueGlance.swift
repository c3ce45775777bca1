import JobQueue
import Reports
import Terminal

/// The queue in a progress line: why nothing may run, and how much is left.
struct QueueGlance: Equatable, Sendable {
    var isPaused = false
    var heldOrigins = 0
    /// Items of the queue that are not finished.
    var openItems = 0

    /// `queue paused`, `2 origins held`.
    var notes: [String] {
        [isPaused ? "queue paused" : nil, heldOrigins > 0 ? "\(heldOrigins.counted("origin")) held" : nil]
            .compactMap(\.self)
    }

    /// Reads it; nil without an answer, or for a login that may not read the queues.
    static func of(_ name: String, in queue: PostgresJobQueue) async -> QueueGlance? {
        guard let status = try? await queue.reports.queues().first(where: { $0.name == name }),
            let held = try? await HeldOriginLine.visible(in: queue)
        else { return nil }
        return QueueGlance(
            isPaused: status.isPaused, heldOrigins: held.count { $0.remaining > .zero },
            openItems: status.openItems)
    }
}
