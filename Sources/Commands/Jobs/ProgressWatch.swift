import Glibc
import JobQueue
import Reports
import Terminal

/// Shows the progress of one batch on standard error: one line of a terminal, redrawn twice a second.
struct ProgressWatch {
    let queue: PostgresJobQueue
    /// Draws the line; nil removes it.
    let draw: @Sendable (String?) -> Void
    /// What the loads of this process do now, as `LoadStageName.text` says it.
    var stages: @Sendable () -> String? = { nil }
    /// The queue of the batch, read every five seconds; nil for none.
    var glance: (@Sendable () async -> QueueGlance?)?

    /// Reads the progress until the batch is over or the task is cancelled.
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
