import Glibc
import JobQueue

/// Follows a batch until it has no open item.
struct ProgressWatch {
    let queue: PostgresJobQueue
    /// Writes to where it is followed.
    let tell: @Sendable (String) -> Void
    /// Whether that is a terminal, where one line is redrawn.
    var isTerminal = Console.isTerminal(STDERR_FILENO)
    /// Between two looks.
    var interval = Duration.milliseconds(500)

    /// Shows the batch again and again; ends when it is finished, or with the task.
    func follow(_ batch: BatchReference) async throws {
        var bar = ProgressBar(terminal: isTerminal, tell: tell)
        defer { bar.end() }
        while !Task.isCancelled {
            let progress = try await queue.progress(of: batch)
            bar.show(progress)
            if progress.open == 0 && progress.isOver { return }
            try? await Task.sleep(for: interval)
        }
    }
}
