import CommandLine
import JobQueue
import Reports
import Terminal

extension Command {
    static let discard = Command(
        words: ["discard"], also: ["delete": "--delete"], operands: "BATCH",
        summary: "Discard the failed items of a batch, or the whole batch with its records",
        discussion: """
            Failed items are no longer listed by 'larder report' or retried by 'larder retry'. The counts of the batch stay.
            With --delete the batch, its counts, failures and reports are gone at once; maintenance deletes the rows. The
            images stay in the cache, and blocked URLs stay blocked. A batch that is not finished is refused: cancel it
            before.
            """,
        examples: ["larder discard spring", "larder discard spring --delete --yes", "larder delete nightly@-1"],
        options: [
            Option("delete", "delete the finished batch with its records, after confirmation"),
            Confirmation.option, Settings.databaseOption,
        ]
    ) { arguments in
        let name = try arguments.operand("BATCH", of: "discard")
        if arguments.isGiven("delete") { return try await delete(name, arguments) }
        return try await change(name, arguments) { queue, batch in
            let items = try await queue.producer.discardFailed(of: batch)
            return (["discarded": items], "\(items.counted("failed item")) discarded, ")
        }
    }

    private static func delete(_ name: String, _ arguments: Arguments) async throws -> ExitCode {
        let queue = try await Settings(arguments).openQueue()
        let batch = try await queue.batch(called: name)
        let progress = try await queue.reports.progress(of: batch)
        try Confirmation.ask(
            "delete batch \(progress.title) with the records of \(progress.total.counted("item"))", arguments,
            of: "discard --delete")
        // The batch that was asked about, also when its name has meanwhile got another run.
        try await queue.operations.delete(.id(progress.id))
        try Console.show(
            ["batch": progress.displayName, "batchID": progress.id, "deleted": true, "total": progress.total],
            arguments,
            "batch \(progress.title): \(progress.total.counted("item")), deleted")
        return .done
    }
}
