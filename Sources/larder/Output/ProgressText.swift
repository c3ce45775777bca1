import JobQueue

/// The progress of a batch as text.
enum ProgressText {
    /// `spring (7): sealed, 50% 5/10, 1 failed, 2.5/s, 2s left, p50 12.5 ms, p95 80.0 ms`, and a line with the errors.
    static func status(_ progress: BatchProgress, width: Int = 0) -> String {
        var text = "\(progress.title): \(progress.state.rawValue), \(line(progress, width: width))"
        if let p50 = progress.p50, let p95 = progress.p95 { text += ", p50 \(p50) ms, p95 \(p95) ms" }
        text += "\n"
        if !progress.topErrors.isEmpty {
            let errors = progress.topErrors.map { "\($0.items) × \($0.domain) \($0.code)" }
            text += "  errors: \(errors.joined(separator: ", "))\n"
        }
        return text
    }

    /// `[#####.....] 50% 5/10, 1 failed, 1 cancelled, 2.5/s, 2s left`; without a bar when `width` is 0.
    static func line(_ progress: BatchProgress, width: Int) -> String {
        let (finished, total) = (progress.finished, progress.total)
        var line = "\(total == 0 ? 100 : finished * 100 / total)% \(finished)/\(total)"
        if width > 0 {
            let filled = total == 0 ? width : finished * width / total
            let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
            line = "[\(bar)] \(line)"
        }
        if progress.failed > 0 { line += ", \(progress.failed) failed" }
        if progress.cancelled > 0 { line += ", \(progress.cancelled) cancelled" }
        guard !progress.isOver, progress.rate > 0 else { return line }
        line += ", \((progress.rate * 10).rounded() / 10)/s"
        if let eta = progress.eta { line += ", \(time(Int(eta.components.seconds))) left" }
        return line
    }

    /// At most two units: `45s`, `3m 20s`, `2h 5m`, `4d 3h`.
    static func time(_ seconds: Int) -> String {
        let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")]
        let first = units.firstIndex { seconds >= $0.0 } ?? 3
        var rest = seconds
        var parts: [String] = []
        for (size, letter) in units[first...].prefix(2) {
            if parts.isEmpty || rest >= size { parts.append("\(rest / size)\(letter)") }
            rest %= size
        }
        return parts.joined(separator: " ")
    }
}
