import Glibc
import JobQueue

/// Prints the progress of one batch on standard error: one line that is redrawn on a terminal, elsewhere a line per
/// change.
struct ProgressWatch {
    let queue: PostgresJobQueue
    let write: @Sendable (String) -> Void

    /// Reads the progress twice a second until the batch is finished or the task is cancelled.
    func follow(_ batch: BatchReference) async throws {
        let isTerminal = Console.isTerminal(STDERR_FILENO)
        var last = ""
        defer { if isTerminal && !last.isEmpty { write("\n") } }
        while !Task.isCancelled {
            let progress = try await queue.progress(of: batch)
            let line = ProgressText.line(progress, width: isTerminal ? 30 : 0)
            if line != last { write(isTerminal ? "\r\u{1B}[K" + line : line + "\n") }
            last = line
            if progress.open == 0 && progress.isOver { return }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }
}
