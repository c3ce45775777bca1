import JobQueue

/// A batch as `status` shows it to people.
enum StatusText {
    /// `spring (7): sealed, 50% 5/10, 1 failed, 2.5/s, 2s left, p50 12.5 ms, p95 80.0 ms`, and a line for the errors.
    static func text(_ progress: BatchProgress) -> String {
        let times = ProgressText.times(progress)
        var text = "\(progress.title): \(progress.state.rawValue), \(ProgressBar.line(progress, width: 0))"
        if !times.isEmpty { text += ", \(times)" }
        text += "\n"
        if !progress.topErrors.isEmpty { text += "  errors: \(ProgressText.errors(progress))\n" }
        return text
    }
}
