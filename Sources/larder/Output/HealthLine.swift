import JobQueue

/// One finding of `status --health`.
struct HealthLine {
    /// Most severe first.
    static let severities = [HealthFinding.Severity.error, .warning, .info]

    let severity: HealthFinding.Severity
    let what: String
    let detail: String
    let hint: String

    var text: String { "\(what): \(detail) (\(hint))" }

    func show(_ arguments: Arguments) throws {
        try Console.show(
            ["severity": severity.rawValue, "what": what, "detail": detail, "hint": hint], arguments,
            "\(severity.rawValue): \(text)")
    }
}

extension HealthLine {
    init(_ finding: HealthFinding) {
        self.init(severity: finding.severity, what: finding.what, detail: finding.detail, hint: finding.hint)
    }
}
