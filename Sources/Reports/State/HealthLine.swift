import FoundationEssentials
package import JobQueue
package import Terminal

/// A finding of `status --health`.
package struct HealthLine {
    /// Most severe first.
    package static let severities = [HealthFinding.Severity.error, .warning, .info]

    package let severity: HealthFinding.Severity
    package let what: String
    package let detail: String
    package let hint: String

    package var text: String { "\(what): \(detail) (\(hint))" }

    package var json: JSONObject { ["severity": severity.rawValue, "what": what, "detail": detail, "hint": hint] }
}

extension HealthLine {
    package static func all(of queue: PostgresJobQueue) async throws(QueueError) -> [HealthLine] {
        let findings = try await queue.reports.health().map { HealthLine($0) }
        let origins = try await HeldOriginLine.visible(in: queue).map { HeldOriginLine.health($0, now: .now) }
        return severities.flatMap { severity in (findings + origins).filter { $0.severity == severity } }
    }

    package init(_ finding: HealthFinding) {
        self.init(severity: finding.severity, what: finding.what, detail: finding.detail, hint: finding.hint)
    }
}
