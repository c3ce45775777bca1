import JobQueue

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
        let areSound = try await DatabaseCalls.open(arguments) { database in
            let violations = try await database.queue.check()
            for found in violations {
                let line: JSONObject = ["invariant": found.invariant, "subject": found.subject, "detail": found.detail]
                try database.show(
                    line, arguments,
                    "\(found.invariant): \(found.subject.map { "\($0): " } ?? "")\(found.detail)")
            }
            return violations.isEmpty
        }
        return areSound.allSatisfy(\.self) ? .done : .failed
    }
}
