import FoundationEssentials
import JobQueue

/// One finding of `health` and `status --health`.
struct HealthLine {
    /// Most severe first.
    static let severities = [HealthFinding.Severity.error, .warning, .info]

    let severity: HealthFinding.Severity
    let what: String
    let detail: String
    let hint: String

    var text: String { "\(what): \(detail) (\(hint))" }

    var json: JSONObject { ["severity": severity.rawValue, "what": what, "detail": detail, "hint": hint] }

    func show(_ arguments: Arguments, in database: OpenDatabase) throws {
        try database.show(json, arguments, "\(severity.rawValue): \(text)")
    }
}

extension HealthLine {
    /// Prints what is wrong, the most severe of a database first.
    ///
    /// - Parameter severities: those of findings for which the exit code is 1; of an error by default.
    static func showAll(
        _ arguments: Arguments, failing severities: [HealthFinding.Severity] = [.error]
    ) async throws -> ExitCode {
        let lines = try await DatabaseCalls.open(arguments) { database in
            let lines = try await all(of: database.queue)
            if lines.isEmpty && !arguments.flag("json") { Console.line(database.column + "nothing is wrong") }
            for line in lines { try line.show(arguments, in: database) }
            return lines
        }.flatMap(\.self)
        return lines.contains { severities.contains($0.severity) } ? .failed : .done
    }

    static func all(of queue: PostgresJobQueue) async throws(QueueError) -> [HealthLine] {
        let findings = try await queue.health().map { HealthLine($0) }
        let origins = try await HeldOriginLine.visible(in: queue).map { HeldOriginLine.health($0, now: .now) }
        return severities.flatMap { severity in (findings + origins).filter { $0.severity == severity } }
    }

    init(_ finding: HealthFinding) {
        self.init(severity: finding.severity, what: finding.what, detail: finding.detail, hint: finding.hint)
    }
}
