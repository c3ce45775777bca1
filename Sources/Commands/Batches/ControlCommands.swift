import CommandLine
import JobQueue
import Reports
import Terminal

/// The commands that cancel and retry jobs.
extension Command {
    static let cancel = Command(
        words: ["cancel"], operands: "[BATCH]",
        summary: "Cancel a batch, one job, or all jobs of an origin, a form of URL, an error or an age",
        discussion: """
            BATCH is a name or a number. All open items of the batch finish at once as cancelled.
            A job that another batch also needs continues; a running job is cancelled by its worker within a
            second, with 500 workers or more within two.
            --job cancels one job for all batches and prints whether it is cancelled, will be stopped or is complete.
            Without either, --origin, --url, --error and --older-than cancel all jobs that meet these conditions, each for
            every batch that has it.
            """,
        examples: [
            "larder cancel spring", "larder cancel --job 17",
            "larder cancel --origin https://images.example.com --older-than 2d --dry-run",
        ],
        options: [ControlTarget.jobOption] + JobFilterOptions.options(since: "were enqueued") + [
            Settings.databaseOption
        ]
    ) { arguments in
        let filter = try JobFilterOptions.filter(arguments), isDryRun = arguments.flag("dry-run")
        if !filter.isEmpty {
            try ControlTarget.none(arguments, of: "cancel", or: ControlTarget.jobOption)
            let jobs = try await Settings(arguments).openQueue().producer.cancel(filter, isDryRun: isDryRun)
            return try show("cancelled", jobs, "job", arguments)
        }
        guard !isDryRun else { throw JobFilterOptions.missing(of: "cancel") }
        let target = try ControlTarget.required(arguments, of: "cancel", or: ControlTarget.jobOption)
        guard let number = target.job else {
            return try await change(target.name, arguments) { queue, batch in
                let items = try await queue.producer.cancel(batch)
                return (["cancelled": items], "\(items.counted("item")) cancelled, ")
            }
        }
        let answer = try await Settings(arguments).openQueue().producer.cancel(job: number).rawValue
        try Console.show(["job": number, "result": answer], arguments, "job \(number): \(answer)")
        return .done
    }

    static let retry = Command(
        words: ["retry"], operands: "[BATCH]",
        summary: "Retry the failed items of a batch or of all, or one job",
        discussion: """
            Each failed URL, blocked ones included, becomes a new job with all its attempts, which passes the blocks by
            failures (RetryFailed) and not those by an operator. --origin, --url, --error and --older-than take only
            failures that meet these conditions, in all batches if BATCH is missing. --job also makes a scheduled job
            ready at once, and a job suspended as crashed ready again.
            """,
        examples: [
            "larder retry spring", "larder retry spring --error 'SDWebImageErrorDomain 2001'", "larder retry --job 17",
            "larder retry --url 'https://images.example.com/new/*' --dry-run",
        ],
        options: [ControlTarget.jobOption] + JobFilterOptions.options(since: "failed") + [Settings.databaseOption]
    ) { arguments in
        let filter = try JobFilterOptions.filter(arguments), isDryRun = arguments.flag("dry-run")
        guard
            let target = try filter.isEmpty
                ? ControlTarget.required(arguments, of: "retry", or: ControlTarget.jobOption)
                : ControlTarget.optional(arguments, of: "retry", or: ControlTarget.jobOption)
        else {
            let items = try await Settings(arguments).openQueue().producer.retryFailed(filter, isDryRun: isDryRun)
            return try show("retried", items, "item", arguments)
        }
        guard target.job == nil || filter.isEmpty && !isDryRun else {
            throw CommandError.usage("retry: --job excludes \(JobFilterOptions.names)")
        }
        guard let number = target.job else {
            return try await change(target.name, arguments) { queue, batch in
                let items = try await queue.producer.retryFailed(filter, of: batch, isDryRun: isDryRun)
                return (
                    ["retried": items, "dryRun": isDryRun],
                    "\(items.counted("item")) \(isDryRun ? "would be " : "")retried, "
                )
            }
        }
        let later = try await Settings(arguments).openQueue().producer.retry(job: number)
        try Console.show(
            ["job": number, "retriedAs": later], arguments,
            later == number ? "job \(number) is ready" : "job \(number) is retried as job \(later)")
        return .done
    }

    /// Prints how many jobs or items a command has changed, or would change.
    private static func show(
        _ done: String, _ count: Int, _ noun: String, _ arguments: Arguments
    ) throws -> ExitCode {
        let isDryRun = arguments.flag("dry-run")
        try Console.show(
            [done: count, "dryRun": isDryRun], arguments,
            "\(count.counted(noun)) \(isDryRun ? "would be " : "")\(done)")
        return .done
    }

    /// Changes the batch `name` and prints its new state.
    ///
    /// - Parameter body: makes the change; returns its counts as JSON fields and as text.
    static func change(
        _ name: String, _ arguments: Arguments,
        _ body: (PostgresJobQueue, BatchReference) async throws -> (fields: JSONObject, text: String)
    ) async throws -> ExitCode {
        let queue = try await Settings(arguments).openQueue()
        let batch = try await queue.batch(called: name)
        let change = try await body(queue, batch)
        let progress = try await queue.reports.progress(of: batch)
        let line: JSONObject = [
            "batch": progress.displayName, "batchID": progress.id, "state": progress.state.rawValue,
            "open": progress.open,
        ]
        try Console.show(
            line.merging(change.fields), arguments, "batch \(progress.title): \(change.text)\(progress.stateText)")
        return .done
    }

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
        // The batch that was confirmed, even if its name has another run by now.
        try await queue.operations.delete(.id(progress.id))
        try Console.show(
            ["batch": progress.displayName, "batchID": progress.id, "deleted": true, "total": progress.total],
            arguments,
            "batch \(progress.title): \(progress.total.counted("item")), deleted")
        return .done
    }
}
