import FoundationEssentials
import HTTPServer
package import ImageModel
import JobQueue
import Reports
import Terminal

/// An API call: what a route reads from its request.
struct DashboardCall: Sendable {
    let queue: PostgresJobQueue
    let request: HTTPRequest
    /// The number in the path, for routes with one.
    let number: Int64
    /// Whether the user may change things: identifiers needed for a change are then answered unmasked.
    let allowsChanges: Bool

    /// A query parameter.
    ///
    /// - Throws: wrong usage unless it is a number in the range.
    func number(_ name: String, in range: ClosedRange<Int>, default value: Int) throws(CommandError) -> Int {
        guard let text = request.arguments[name] else { return value }
        guard let number = Int(text), range.contains(number) else {
            throw .usage(
                "\(name): '\(PrintableText.text(text))' is not a number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }

    /// A text field of the JSON body.
    ///
    /// - Throws: wrong usage if it is missing, empty or not a text.
    func text(_ name: String) throws(CommandError) -> String {
        guard case .string(let text) = try fields()[name], !text.isEmpty else {
            throw .usage("the body needs a text field '\(name)'")
        }
        return text
    }

    /// The error in the fields `domain` and `code` of the JSON body.
    ///
    /// - Throws: wrong usage if one is missing or invalid.
    func error() throws(CommandError) -> FailureCode {
        let domain = try text("domain")
        guard let code = try fields()["code"]?.integer, Self.codes.contains(code) else {
            throw .usage("the body needs a field 'code', a whole number of 32 bits")
        }
        return FailureCode(domain: domain, code: code)
    }

    /// The range of the database's codes.
    private static let codes = Int(Int32.min)...Int(Int32.max)

    /// A whole number of seconds in the JSON body; nil if absent.
    func seconds(_ name: String) throws(CommandError) -> Duration? {
        guard let value = try fields()[name] else { return nil }
        guard let seconds = value.integer, (1...31_536_000).contains(seconds) else {
            throw .usage("'\(name)' must be a whole number of seconds, at most a year")
        }
        return .seconds(seconds)
    }

    /// The filter of failures in the query or the body: `batch`, `domain` and `code`, `origin`, `text`. A batch's name in
    /// the query is left out.
    ///
    /// - Throws: wrong usage for a wrong type, and for only one of `domain` and `code`.
    func filter() throws(CommandError) -> FailureFilter {
        let fields = try request.isReading ? [:] : self.fields()
        func text(_ name: String) throws(CommandError) -> String? {
            let text = request.isReading ? request.arguments[name] : fields[name]?.string
            if text == nil, fields[name] != nil { throw .usage("'\(name)' must be a text") }
            return text.flatMap { $0.isEmpty ? nil : $0 }
        }
        func integer(_ name: String) throws(CommandError) -> Int? {
            let given = request.arguments[name]
            let number = request.isReading ? given.flatMap { Int($0) } : fields[name]?.integer
            if number == nil, fields[name] != nil || given?.isEmpty == false {
                throw .usage("'\(name)' must be a whole number")
            }
            return number
        }
        let (domain, code) = (try text("domain"), try integer("code"))
        guard (domain == nil) == (code == nil) else { throw .usage("'domain' and 'code' belong together") }
        guard code.map(Self.codes.contains) ?? true else { throw .usage("'code' must be a whole number of 32 bits") }
        return FailureFilter(
            batch: request.isReading
                ? request.arguments["batch"].flatMap(Int64.init) : try integer("batch").map { Int64($0) },
            error: domain.flatMap { domain in code.map { FailureCode(domain: domain, code: $0) } },
            origin: try text("origin"), text: try text("text"))
    }

    /// The filter in words, for the record of changes.
    var filterText: String {
        get throws(CommandError) {
            let filter = try filter()
            let parts = [
                filter.batch.map { "batch \($0)" }, filter.error.map { "\($0.domain) \($0.code)" },
                filter.origin.map { "origin \(ShownURL.masked($0))" },
                filter.text.map { "text \(ShownURL.masked($0))" },
            ]
            return parts.contains { $0 != nil } ? parts.compactMap(\.self).joined(separator: ", ") : "all failures"
        }
    }

    /// Checks a change's JSON body, which may be empty if nothing has to be named.
    ///
    /// - Throws: wrong usage unless it is a JSON object.
    func checkBody() throws(CommandError) { if !request.body.isEmpty { _ = try fields() } }

    private func fields() throws(CommandError) -> [String: JSONValue] {
        guard let value = try? JSONValue.parse(request.body), case .object(let object) = value else {
            throw .usage("the body is not a JSON object")
        }
        return object
    }
}

extension JSONValue {
    /// Nil for other types.
    package var string: String? { if case .string(let text) = self { text } else { nil } }

    /// Nil for other numbers and types.
    var integer: Int? { if case .number(let number) = self { Int(exactly: number) } else { nil } }
}
