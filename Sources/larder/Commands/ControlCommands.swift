import JobQueue

extension Command {
    static let cancel = Command(
        words: ["cancel"], operands: "[BATCH]",
        summary: "Cancel a batch, by name or number, or one job",
        discussion: """
            The open items of a batch are finished at once, skipped (SDWebImageErrorDomain 2002). A job ends only when no
            other batch wants it; one that runs is told to its worker. --job cancels a job for all batches that want it
            and prints cancelled, requested (it is running) or completed (it had ended before).
            """,
        examples: ["larder cancel spring", "larder cancel --job 17"],
        options: [ControlTarget.jobOption, Settings.databaseOption]
    ) { arguments in
        let target = try ControlTarget.one(arguments, of: "cancel", or: ControlTarget.jobOption)
        let queue = try await Settings(arguments).openQueue()
        switch target {
        case .job(let number):
            let answer = try await queue.cancel(job: number)
            try Console.show(
                ControlledJob(job: number, result: answer.rawValue), arguments,
                answer == .requested ? "job \(number) is being cancelled" : "job \(number) is \(answer.rawValue)")
        case .batch(let name), .queue(let name):
            let batch = try await queue.batch(called: name)
            let items = try await queue.cancel(batch)
            let progress = try await queue.progress(of: batch)
            var line = BatchLine(progress)
            line.cancelled = items
            try Console.show(
                line, arguments,
                "batch \(progress.title): \(items.counted("item")) cancelled, \(progress.state.rawValue)")
        }
        return .done
    }

    static let pause = Command(
        words: ["pause"], operands: "[BATCH]",
        summary: "Pause a batch, by name or number, or a queue",
        discussion: "Nothing more of it is handed out; what runs goes on, and it takes URLs as before.",
        examples: ["larder pause spring", "larder pause --queue default"],
        options: [ControlTarget.queueOption, Settings.databaseOption]
    ) { arguments in
        try await setPaused(true, arguments)
    }

    static let resume = Command(
        words: ["resume"], operands: "[BATCH]",
        summary: "Let a paused batch, by name or number, or a paused queue go on",
        options: [ControlTarget.queueOption, Settings.databaseOption]
    ) { arguments in
        try await setPaused(false, arguments)
    }

    static let retry = Command(
        words: ["retry"], operands: "[BATCH]",
        summary: "Run the failed items of a batch again, or one job",
        discussion: """
            Each failed URL becomes a new job with fresh attempts that passes the blocklist (RetryFailed); blocked ones,
            too. --job also makes a job ready that waits for its next attempt, or that was lost with its workers too often.
            """,
        options: [ControlTarget.jobOption, Settings.databaseOption]
    ) { arguments in
        let target = try ControlTarget.one(arguments, of: "retry", or: ControlTarget.jobOption)
        let queue = try await Settings(arguments).openQueue()
        switch target {
        case .job(let number):
            let again = try await queue.retry(job: number)
            try Console.show(
                ControlledJob(job: number, retriedAs: again), arguments,
                again == number ? "job \(number) runs again" : "job \(number) runs again as job \(again)")
        case .batch(let name), .queue(let name):
            let batch = try await queue.batch(called: name)
            var items = 0
            while true {
                let portion = try await queue.retryFailed(of: batch)
                items += portion
                // A short portion was the last one; what failed again since is another command's.
                if portion < PostgresJobQueue.retryPortion { break }
            }
            let progress = try await queue.progress(of: batch)
            var line = BatchLine(progress)
            line.retried = items
            let what = items == 1 ? "1 item runs again" : "\(items) items run again"
            try Console.show(line, arguments, "batch \(progress.title): \(what), \(progress.state.rawValue)")
        }
        return .done
    }

    private static func setPaused(_ isPaused: Bool, _ arguments: Arguments) async throws -> ExitCode {
        let command = isPaused ? "pause" : "resume"
        let target = try ControlTarget.one(arguments, of: command, or: ControlTarget.queueOption)
        let queue = try await Settings(arguments).openQueue()
        switch target {
        case .queue(let name):
            if isPaused { try await queue.pause(queue: name) } else { try await queue.resume(queue: name) }
            try Console.show(
                ControlledQueue(queue: name, paused: isPaused), arguments,
                "queue \(name): \(isPaused ? "paused" : "goes on")"
            )
        case .batch(let name):
            let batch = try await queue.batch(called: name)
            if isPaused { try await queue.pause(batch) } else { try await queue.resume(batch) }
            let progress = try await queue.progress(of: batch)
            try Console.show(BatchLine(progress), arguments, "batch \(progress.title): \(progress.state.rawValue)")
        case .job: break
        }
        return .done
    }
}

/// A job after something was done to it.
private struct ControlledJob: Encodable {
    let job: Int64
    var result: String?
    var retriedAs: Int64?
}

/// A queue after something was done to it.
private struct ControlledQueue: Encodable {
    let queue: String
    let paused: Bool
}
