/// Something that is wrong with the queue or its database, or soon will be.
public struct HealthFinding: Sendable {
    /// How bad it is.
    public enum Severity: String, Sendable {
        /// Work is not done, or the database will not last.
        case error
        /// It will hurt when it goes on.
        case warning
        /// Good to know.
        case info
    }

    /// How bad it is.
    public let severity: Severity
    /// What it is: one of the findings that the view `larder.health` knows.
    public let what: String
    /// Where, since when, how much.
    public let detail: String
    /// What to do about it.
    public let hint: String
}

extension PostgresJobQueue {
    /// What is wrong, worst first; none when all is well. Cheap: counts no jobs.
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
