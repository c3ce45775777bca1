import JobQueue

/// Follows a batch on standard error until it has no open item.
struct ProgressWatch {
    let queue: PostgresJobQueue
    /// Writes to standard error.
    let tell: @Sendable (String) -> Void
    /// Between two looks.
    var interval = Duration.milliseconds(500)

    /// Shows the batch again and again; ends when it is finished, or with the task.
    func follow(_ batch: BatchReference) async throws {
        var bar = ProgressBar(terminal: Console.isTerminal, tell: tell)
        defer { bar.end() }
        while !Task.isCancelled {
            let progress = try await queue.progress(of: batch)
            bar.show(
                finished: progress.finished, total: progress.total, skipped: progress.skipped,
                note: ProgressText.pace(progress))
            if progress.open == 0 && (progress.state == .finished || progress.state == .cancelled) { return }
            try? await Task.sleep(for: interval)
        }
    }
}
