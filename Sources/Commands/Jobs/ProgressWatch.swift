import Glibc
import JobQueue
import Reports
import Terminal

/// Shows a batch's progress on standard error: one terminal line, redrawn twice a second.
struct ProgressWatch {
    let queue: PostgresJobQueue
    /// Draws the line; nil removes it.
    let draw: @Sendable (String?) -> Void
    /// The current stages of this process's loads, from `LoadStageName.text`.
    var stages: @Sendable () -> String? = { nil }
    /// The batch's queue, read every five seconds; nil for none.
    var glance: (@Sendable () async -> QueueGlance?)?

    /// Shows the progress until the batch is over or the task is cancelled.
    func follow(_ batch: BatchReference) async throws {
        defer { draw(nil) }
        var rate = RecentRate()
        var waits: [String] = []
        var round = 0
        while !Task.isCancelled {
            let progress = try await queue.reports.progress(of: batch)
            var line = ProgressText.line(progress, rate: rate.update(progress.finished, at: .now))
            if round % 10 == 0 { waits = await glance?()?.notes ?? [] }
            round += 1
            line.notes += waits
            if let inFlight = stages() { line.notes.append(inFlight) }
            draw(line.text(width: Console.columns(STDERR_FILENO)))
            if progress.open == 0 && progress.isOver { return }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }
}

/// The queue in a progress line: why nothing may run, and how much is left.
struct QueueGlance: Equatable, Sendable {
    var isPaused = false
    var heldOrigins = 0
    var openItems = 0

    /// Such as `queue paused`, `2 origins held`.
    var notes: [String] {
        [isPaused ? "queue paused" : nil, heldOrigins > 0 ? "\(heldOrigins.counted("origin")) held" : nil]
            .compactMap(\.self)
    }

    /// Nil without an answer, or if the login may not read the queues.
    static func of(_ name: String, in queue: PostgresJobQueue) async -> QueueGlance? {
        guard let status = try? await queue.reports.queues().first(where: { $0.name == name }),
            let held = try? await HeldOriginLine.visible(in: queue)
        else { return nil }
        return QueueGlance(
            isPaused: status.isPaused, heldOrigins: held.count { $0.remaining > .zero },
            openItems: status.openItems)
    }
}
