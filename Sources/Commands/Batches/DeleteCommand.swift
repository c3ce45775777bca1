import CommandLine
import JobQueue
import Reports
import Terminal

extension Command {
    static let delete = Command(
        words: ["delete"], operands: "BATCH",
        summary: "Delete a finished batch with its records",
        discussion: """
            The batch, its counts, failures and reports are gone at once; maintenance deletes the rows. The images stay in
            the cache, and blocked URLs stay blocked. A batch that is not finished is refused: cancel it before.
            """,
        examples: ["larder delete spring --yes", "larder delete nightly@-1"],
        options: [Confirmation.option, Settings.databaseOption]
    ) { arguments in
        let name = try arguments.operand("BATCH", of: "delete")
        let queue = try await Settings(arguments).openQueue()
        let batch = try await queue.batch(called: name)
        let progress = try await queue.reports.progress(of: batch)
        try Confirmation.ask(
            "delete batch \(progress.title) with the records of \(progress.total.counted("item"))", arguments,
            of: "delete")
        // The batch that was asked about, also when its name has meanwhile got another run.
        try await queue.operations.delete(.id(progress.id))
        try Console.show(
            ["batch": progress.displayName, "batchID": progress.id, "deleted": true, "total": progress.total],
            arguments,
            "batch \(progress.title): \(progress.total.counted("item")), deleted")
        return .done
    }
}
