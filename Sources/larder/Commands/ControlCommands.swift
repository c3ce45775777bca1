import ImageModel
import JobQueue

/// The commands that change batches, jobs and queues.
extension Command {
    static let cancel = Command(
        words: ["cancel"], operands: "[BATCH]",
        summary: "Cancel a batch, or one job",
        discussion: """
            BATCH is a name or a number. All open items of the batch finish at once as skipped (SDWebImageErrorDomain
            2002). A job that another batch also needs continues; a running job is cancelled by its worker within a
            second, with 500 workers or more within two.
            --job cancels one job for all batches and prints whether it is cancelled, will be stopped or is complete.
            """,
        examples: ["larder cancel spring", "larder cancel --job 17"],
        options: [ControlTarget.jobOption, Settings.databaseOption]
    ) { arguments in
        let target = try ControlTarget.required(arguments, of: "cancel", or: ControlTarget.jobOption)
        guard let number = target.job else {
            return try await change(target.name, arguments) { queue, batch in
                let items = try await queue.cancel(batch)
                return (["cancelled": items], "\(items.counted("item")) cancelled, ")
            }
        }
        let answer = try await Settings(arguments).openQueue().cancel(job: number).rawValue
        try Console.show(["job": number, "result": answer], arguments, "job \(number): \(answer)")
        return .done
    }

    static let pause = Command(
        words: ["pause"], operands: "[BATCH]",
        summary: "Pause a batch, or a queue",
        discussion: "Its jobs are no longer claimed. Running jobs continue, and URLs can still be enqueued.",
        examples: ["larder pause spring", "larder pause --queue default"],
        options: [ControlTarget.queueOption, Settings.databaseOption]
    ) { arguments in
        try await setPaused(true, arguments)
    }

    static let resume = Command(
        words: ["resume"], operands: "[BATCH]",
        summary: "Resume a paused batch, or a paused queue",
        examples: ["larder resume spring", "larder resume --queue default"],
        options: [ControlTarget.queueOption, Settings.databaseOption]
    ) { arguments in
        try await setPaused(false, arguments)
    }

    static let retry = Command(
        words: ["retry"], operands: "[BATCH]",
        summary: "Retry the failed items of a batch, or one job",
        discussion: """
            Each failed URL, blocked ones included, becomes a new job with all its attempts, which passes the blocks by
            failures (RetryFailed) and not those by an operator. --error takes only those that failed with one error, as
            reports name it. --job also makes a scheduled job ready at once, and a
            job suspended as crashed ready again.
            """,
        examples: [
            "larder retry spring", "larder retry spring --error 'SDWebImageErrorDomain 2001'", "larder retry --job 17",
        ],
        options: [
            ControlTarget.jobOption,
            Option("error", .value("ERROR"), "only items that failed with this domain and code"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let target = try ControlTarget.required(arguments, of: "retry", or: ControlTarget.jobOption)
        let error = try arguments.value("error").map(errorCode)
        guard target.job == nil || error == nil else {
            throw CommandError.usage("retry: --job and --error exclude each other")
        }
        guard let number = target.job else {
            return try await change(target.name, arguments) { queue, batch in
                let items = try await inPortions(of: PostgresJobQueue.retryPortion) {
                    try await queue.retryFailed(of: batch, with: error)
                }
                return (["retried": items], "\(items.counted("item")) retried, ")
            }
        }
        let later = try await Settings(arguments).openQueue().retry(job: number)
        try Console.show(
            ["job": number, "retriedAs": later], arguments,
            later == number ? "job \(number) is ready" : "job \(number) is retried as job \(later)")
        return .done
    }

    /// Reads `SDWebImageErrorDomain 2001`.
    private static func errorCode(_ text: String) throws(CommandError) -> FailureCode {
        let words = text.split(separator: " ")
        guard words.count == 2, let code = Int(words[1]) else {
            throw .usage("retry: --error: '\(text)' is not a domain and a code such as 'SDWebImageErrorDomain 2001'")
        }
        return FailureCode(domain: String(words[0]), code: code)
    }

    static let discard = Command(
        words: ["discard"], operands: "BATCH",
        summary: "Discard the failed items of a batch",
        discussion:
            "They are no longer listed by 'larder report' or retried by 'larder retry'. The counts of the batch stay.",
        examples: ["larder discard spring"],
        options: [Settings.databaseOption]
    ) { arguments in
        try await change(try arguments.operand("BATCH", of: "discard"), arguments) { queue, batch in
            let items = try await queue.discardFailed(of: batch)
            return (["discarded": items], "\(items.counted("failed item")) discarded, ")
        }
    }

    static let prioritize = Command(
        words: ["prioritize"], operands: "BATCH P",
        summary: "Change the priority of a batch's open jobs, 0 first to 9 last",
        discussion: "The priority of a job that another batch also needs is only raised.",
        examples: ["larder prioritize spring 0"],
        options: [Settings.databaseOption]
    ) { arguments in
        let operands = try arguments.operands()
        guard operands.count == 2, !operands[0].isEmpty else {
            throw CommandError.usage("prioritize: BATCH and a priority from 0 to 9 are required")
        }
        guard let priority = Int(operands[1]), (0...9).contains(priority) else {
            throw CommandError.usage("prioritize: '\(operands[1])' is not a priority from 0 to 9")
        }
        return try await change(operands[0], arguments) { queue, batch in
            let jobs = try await inPortions(of: PostgresJobQueue.reprioritizePortion) {
                try await queue.reprioritize(batch, to: priority)
            }
            return (["priority": priority, "jobs": jobs], "priority \(priority) for \(jobs.counted("job")), ")
        }
    }

    private static func setPaused(_ isPaused: Bool, _ arguments: Arguments) async throws -> ExitCode {
        let command = isPaused ? "pause" : "resume"
        let target = try ControlTarget.required(arguments, of: command, or: ControlTarget.queueOption)
        guard case .queue(let name) = target else {
            return try await change(target.name, arguments) { queue, batch in
                if isPaused { try await queue.pause(batch) } else { try await queue.resume(batch) }
                return ([:], "")
            }
        }
        _ = try await DatabaseCalls.open(arguments) { database in
            let queue = database.queue
            if isPaused { try await queue.pause(queue: name) } else { try await queue.resume(queue: name) }
            try database.show(
                ["queue": name, "paused": isPaused], arguments,
                "queue \(name): \(isPaused ? "paused" : "resumed")")
        }
        return .done
    }

    /// Changes the batch `name` and prints its new state.
    ///
    /// - Parameter body: makes the change; returns its counts as JSON fields and as text.
    private static func change(
        _ name: String, _ arguments: Arguments,
        _ body: (PostgresJobQueue, BatchReference) async throws -> (fields: JSONObject, text: String)
    ) async throws -> ExitCode {
        let database = try await Settings(arguments).finding(name).open()
        let queue = database.queue
        let batch = try await queue.batch(called: name)
        let change = try await body(queue, batch)
        let progress = try await queue.progress(of: batch)
        let line: JSONObject = [
            "batch": progress.displayName, "batchID": progress.id, "state": progress.state.rawValue,
            "open": progress.open,
        ]
        try database.show(
            line.merging(change.fields), arguments, "batch \(progress.title): \(change.text)\(progress.state.rawValue)")
        return .done
    }

    /// Repeats a call that handles up to `size` rows each time; a smaller count is the last portion.
    private static func inPortions(of size: Int, _ call: () async throws -> Int) async throws -> Int {
        var sum = 0
        while true {
            let portion = try await call()
            sum += portion
            if portion < size { return sum }
        }
    }
}
