import JobQueue

/// One finding of the queue's health, as `status --health` prints it.
struct HealthLine: Encodable {
    /// The worst first.
    static let severities = [HealthFinding.Severity.error, .warning, .info]

    let severity: String
    let what: String
    let detail: String
    let hint: String

    init(_ finding: HealthFinding) {
        self.init(severity: finding.severity, what: finding.what, detail: finding.detail, hint: finding.hint)
    }

    init(severity: HealthFinding.Severity, what: String, detail: String, hint: String) {
        self.severity = severity.rawValue
        self.what = what
        self.detail = detail
        self.hint = hint
    }

    /// The finding as a text.
    var text: String { "\(what): \(detail) (\(hint))" }

    func show(json: Bool) throws {
        if json { try Console.json(self) } else { Console.line("\(severity): \(text)") }
    }
}
