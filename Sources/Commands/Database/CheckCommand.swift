import CommandLine
import JobQueue
import Terminal

extension Command {
    static let check = Command(
        words: ["check"], operands: "",
        summary: "Check the queue's invariants; prints nothing when all hold",
        discussion: """
            Prints each violated invariant with its job or batch, at most 1,000 lines; the exit code is then 1. Reads all
            live jobs and all history in one snapshot, about a second per 200,000 records.
            """,
        examples: ["larder check"],
        options: [Settings.databaseOption]
    ) { arguments in
        let violations = try await Settings(arguments).openQueue().reports.check()
        for found in violations {
            let line: JSONObject = ["invariant": found.invariant, "subject": found.subject, "detail": found.detail]
            try Console.show(
                line, arguments, "\(found.invariant): \(found.subject.map { "\($0): " } ?? "")\(found.detail)")
        }
        return violations.isEmpty ? .done : .failed
    }
}
