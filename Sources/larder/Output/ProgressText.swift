import JobQueue

/// What a line of progress says besides the counts.
enum ProgressText {
    /// `12.5/s, 3m 20s left`; empty while nothing moves.
    static func pace(_ progress: BatchProgress) -> String {
        guard progress.rate > 0 else { return "" }
        let rate = "\((progress.rate * 10).rounded() / 10)/s"
        guard let eta = progress.eta else { return rate }
        return "\(rate), \(time(Int(eta.components.seconds))) left"
    }

    /// `p50 12.5 ms, p95 80.0 ms`; empty before the first job is done.
    static func times(_ progress: BatchProgress) -> String {
        guard let p50 = progress.p50, let p95 = progress.p95 else { return "" }
        return "p50 \(p50) ms, p95 \(p95) ms"
    }

    /// `3 × NSURLErrorDomain -1001, …`, the most frequent first.
    static func errors(_ progress: BatchProgress) -> String {
        progress.topErrors.map { "\($0.items) × \($0.domain) \($0.code)" }.joined(separator: ", ")
    }

    /// Two units at most: `45s`, `3m 20s`, `2h 5m`, `4d 3h`.
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
