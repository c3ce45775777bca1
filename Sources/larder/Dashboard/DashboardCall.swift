import Foundation
import JobQueue

/// A call of the API: what a route reads of its request.
struct DashboardCall: Sendable {
    let queue: PostgresJobQueue
    let request: HTTPRequest
    /// The number in the path, for routes that have one.
    let number: Int64

    /// A parameter of the query.
    ///
    /// - Throws: wrong usage when it is not a number in the range.
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
    /// - Throws: wrong usage when it is missing, empty or not a text.
    func text(_ name: String) throws(CommandError) -> String {
        guard let text = try fields()[name] as? String, !text.isEmpty else {
            throw .usage("the body needs a text field '\(name)'")
        }
        return text
    }

    /// A field of the JSON body that is a whole number.
    ///
    /// - Throws: wrong usage when it is missing or something else.
    func integer(_ name: String) throws(CommandError) -> Int {
        guard let number = try fields()[name] as? Int else { throw .usage("the body needs a number field '\(name)'") }
        return number
    }

    /// A whole number of seconds in the JSON body; nil without it.
    func seconds(_ name: String) throws(CommandError) -> Duration? {
        guard let value = try fields()[name] else { return nil }
        guard let seconds = value as? Int, (1...31_536_000).contains(seconds) else {
            throw .usage("'\(name)' must be a whole number of seconds, at most a year")
        }
        return .seconds(seconds)
    }

    private func fields() throws(CommandError) -> [String: Any] {
        guard let object = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any] else {
            throw .usage("the body is not a JSON object")
        }
        return object
    }
}
