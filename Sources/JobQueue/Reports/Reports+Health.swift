/// A measurement of the database's queues, for monitoring.
package struct QueueGauge: Sendable {
    /// The comment of `larder.gauges_v1` lists names and units.
    package let metric: String
    /// Nil for the whole database.
    package let queue: String?, priority: Int?
    /// The reason of a pause, the task, or the severity of findings.
    package let reason: String?
    package let value: Double
}

/// A violated invariant found by `PostgresJobQueue.check()`.
package struct BrokenInvariant: Sendable {
    /// As a sentence.
    package let invariant: String
    /// Job or batch id.
    package let subject: Int64?
    package let detail: String
}

extension PostgresJobQueue.Reports {
    /// Measurements from `larder.gauges_v1`, a bounded query. Never waits for an unreachable database.
    package func gauges() async throws(QueueError) -> [QueueGauge] {
        try await database.read("SELECT metric, queue, priority, reason, value FROM larder.gauges_v1()", maxWait: .zero)
        {
            rows throws(QueueError) in
            (0..<rows.count).map { row in
                QueueGauge(
                    metric: rows.text(row, 0) ?? "", queue: rows.text(row, 1),
                    priority: rows.integer(row, 2).map(Int.init),
                    reason: rows.text(row, 3), value: rows.number(row, 4) ?? 0)
            }
        }
    }

    /// The findings of `larder.health`, worst first; empty if healthy. Counts no jobs.
    package func health() async throws(QueueError) -> [HealthFinding] {
        try await database.read("SELECT severity, what, detail, subject FROM larder.health") {
            rows throws(QueueError) in
            var findings: [HealthFinding] = []
            for row in 0..<rows.count {
                guard let severity = rows.text(row, 0).flatMap(HealthFinding.Severity.init(rawValue:)) else {
                    throw QueueError(.unexpectedAnswer, "a finding of severity \(rows.text(row, 0) ?? "none")")
                }
                findings.append(
                    HealthFinding(
                        severity: severity, what: rows.text(row, 1) ?? "", detail: rows.text(row, 2) ?? "",
                        subject: rows.text(row, 3)))
            }
            return findings
        }
    }

    /// Checks the queue's invariants in one snapshot; empty if all hold. Reads everything; at most 1,000 rows.
    package func check() async throws(QueueError) -> [BrokenInvariant] {
        try await database.read("SELECT invariant, subject, detail FROM larder.check() LIMIT 1000") {
            rows throws(QueueError) in
            (0..<rows.count).map { row in
                BrokenInvariant(
                    invariant: rows.text(row, 0) ?? "", subject: rows.integer(row, 1), detail: rows.text(row, 2) ?? "")
            }
        }
    }
}
