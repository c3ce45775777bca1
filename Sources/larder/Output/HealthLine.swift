import JobQueue

/// One finding of `status --health`.
struct HealthLine {
    /// Most severe first.
    static let severities = [HealthFinding.Severity.error, .warning, .info]

    let severity: HealthFinding.Severity
    let what: String
    let detail: String
    let hint: String

    init(_ finding: HealthFinding) {
        self.init(severity: finding.severity, what: finding.what, detail: finding.detail, hint: finding.hint)
    }

    init(severity: HealthFinding.Severity, what: String, detail: String, hint: String) {
        self.severity = severity
        self.what = what
        self.detail = detail
        self.hint = hint
    }

    var text: String { "\(what): \(detail) (\(hint))" }

    func show(_ arguments: Arguments) throws {
        try Console.show(
            ["severity": severity.rawValue, "what": what, "detail": detail, "hint": hint], arguments,
            "\(severity.rawValue): \(text)")
    }
}
