import JobQueue

extension Command {
    static let check = Command(
        words: ["check"], operands: "",
        summary: "Prove the queue's invariants on the live system; no lines = sound",
        discussion: """
            Prints each invariant that does not hold, with the job or batch (at most 1,000 lines); the exit code is then
            1. Reads everything that is live and all history, in one snapshot: not for every second.
            """,
        options: [Settings.databaseOption]
    ) { arguments in
        struct Line: Encodable {
            let invariant: String
            let subject: Int64?
            let detail: String
        }
        let broken = try await Settings(arguments).openQueue().check()
        for found in broken {
            if arguments.flag("json") {
                try Console.json(Line(invariant: found.invariant, subject: found.subject, detail: found.detail))
            } else {
                Console.line("\(found.invariant): \(found.subject.map { "\($0): " } ?? "")\(found.detail)")
            }
        }
        return broken.isEmpty ? .done : .failed
    }
}
