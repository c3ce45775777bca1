import Concurrency
import ImageModel
import Reports
import Terminal

/// Reports and counts unreadable lines of lists.
package final class BadLines: Sendable {
    /// Maximum lines printed as text; all are counted, and all are in JSON.
    private static let shown = 20

    private let json: Bool
    private let found = Locked(0)

    package init(json: Bool) { self.json = json }

    package var count: Int { found.withLock { $0 } }

    package func add(_ bad: BadLine, of list: String) throws {
        let number = found.withLock { count in
            count += 1
            return count
        }
        if json {
            let error = FailureReason(
                domain: FailureCode.Domain.larder, code: CommandError.Code.badLine.rawValue, message: bad.message)
            try Console.json(
                ["url": nil, "answer": "invalid", "file": list, "line": bad.line, "error": error] as JSONObject)
        } else if number <= Self.shown {
            let name = list == "-" ? "standard input" : PrintableText.text(list)
            Console.note("larder: \(name):\(bad.line): \(FailureLine.cut(PrintableText.text(bad.message)))")
        } else if number == Self.shown + 1 {
            Console.note("larder: further bad lines are only counted")
        }
    }
}
