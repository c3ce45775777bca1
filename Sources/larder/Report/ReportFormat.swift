/// The forms of a report.
enum ReportFormat: String, CaseIterable {
    case text, json, html, csv, junit

    /// `--format`, or JSON for `--json`. An option has precedence over a variable.
    init(_ arguments: Arguments) throws(CommandError) {
        let json = arguments.flag("json")
        let given = try arguments.choice("format", of: Self.allCases.map(\.rawValue)).flatMap(Self.init(rawValue:))
        guard let given else {
            self = json ? .json : .text
            return
        }
        guard json, given != .json else {
            self = given
            return
        }
        guard arguments.isGiven("json") != arguments.isGiven("format") else {
            throw .usage("report: --json and --format \(given.rawValue) exclude each other")
        }
        self = arguments.isGiven("json") ? .json : given
    }
}
