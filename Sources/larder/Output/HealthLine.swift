import JobQueue

/// One finding of the queue's health, as `status --health` prints it.
struct HealthLine: Encodable {
    let severity: String
    let what: String
    let detail: String
    let hint: String

    init(_ finding: HealthFinding) {
        severity = finding.severity.rawValue
        what = finding.what
        detail = finding.detail
        hint = finding.hint
    }

    /// The finding as a text.
    var text: String { "\(what): \(detail) (\(hint))" }

    func show(json: Bool) throws {
        if json { try Console.json(self) } else { Console.line("\(severity): \(text)") }
    }
}
