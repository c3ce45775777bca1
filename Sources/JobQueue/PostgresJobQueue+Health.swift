/// A problem of the queue or its database, present or expected.
public struct HealthFinding: Sendable {
    /// The severity of a finding.
    public enum Severity: String, Sendable {
        /// Jobs do not run, or the database will fail.
        case error
        /// It becomes a problem if it lasts.
        case warning
        /// For information.
        case info
    }

    /// The severity.
    public let severity: Severity
    /// The kind of finding; docs/operations.md lists them.
    public let what: String
    /// Where, since when and how much.
    public let detail: String
    /// What to do about it.
    public let hint: String
}

/// A number about the queues of the database, for monitoring.
public struct QueueGauge: Sendable {
    /// What is measured; the comment of `larder.gauges_v1` lists the names and units.
    public let metric: String
    /// The queue and the priority; nil for the whole database.
    public let queue: String?, priority: Int?
    /// The reason of a hold, the task, or the severity of findings.
    public let reason: String?
    /// The value.
    public let value: Double
}

extension PostgresJobQueue {
    /// Numbers for monitoring, from `larder.gauges_v1`: a bounded query. Never waits for an unreachable database.
    public func gauges() async throws(QueueError) -> [QueueGauge] {
        try await ask("SELECT metric, queue, priority, reason, value FROM larder.gauges_v1()", maxWait: .zero) {
            rows throws(QueueError) in
            (0..<rows.count).map { row in
                QueueGauge(
                    metric: rows.text(row, 0) ?? "", queue: rows.text(row, 1),
                    priority: rows.integer(row, 2).map(Int.init),
                    reason: rows.text(row, 3), value: rows.number(row, 4) ?? 0)
            }
        }
    }

    /// The findings of the view `larder.health`, worst first; none: healthy. Counts no jobs.
    public func health() async throws(QueueError) -> [HealthFinding] {
        try await ask("SELECT severity, what, detail, hint FROM larder.health") { rows throws(QueueError) in
            var findings: [HealthFinding] = []
            for row in 0..<rows.count {
                guard let severity = rows.text(row, 0).flatMap(HealthFinding.Severity.init(rawValue:)) else {
                    throw QueueError(.unexpectedAnswer, "a finding of severity \(rows.text(row, 0) ?? "none")")
                }
                findings.append(
                    HealthFinding(
                        severity: severity, what: rows.text(row, 1) ?? "", detail: rows.text(row, 2) ?? "",
                        hint: rows.text(row, 3) ?? ""))
            }
            return findings
        }
    }
}
