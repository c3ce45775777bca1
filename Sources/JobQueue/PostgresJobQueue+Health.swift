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

extension PostgresJobQueue {
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
