import JobQueue

/// What operators do to the failures and the order of a batch.
extension Command {
    static let drop = Command(
        words: ["drop"], operands: "BATCH",
        summary: "Be done with the failed items of a batch",
        discussion: "They are no longer listed as failed, nor tried again by retry; the counts stay.",
        options: [Settings.databaseOption]
    ) { arguments in
        let operands = try arguments.operands()
        guard operands.count == 1, let name = operands.first, !name.isEmpty else {
            throw CommandError.usage("drop: which BATCH? One, by name or number")
        }
        let queue = try await Settings(arguments).openQueue()
        let batch = try await queue.batch(called: name)
        let dropped = try await queue.discardFailed(of: batch)
        let progress = try await queue.progress(of: batch)
        var line = BatchLine(progress)
        line.dropped = dropped
        try Console.show(line, arguments, "batch \(progress.title): \(dropped.counted("failed item")) dropped")
        return .done
    }

    static let prioritize = Command(
        words: ["prioritize"], operands: "BATCH P",
        summary: "Give the open jobs of a batch another priority, 0 first to 9 last",
        discussion: "A job that another batch waits for, too, can only come sooner.",
        examples: ["larder prioritize spring 0"],
        options: [Settings.databaseOption]
    ) { arguments in
        let operands = try arguments.operands()
        guard operands.count == 2, let priority = Int(operands[1]), (0...9).contains(priority), !operands[0].isEmpty
        else {
            throw CommandError.usage("prioritize: a BATCH and a priority from 0 to 9")
        }
        let queue = try await Settings(arguments).openQueue()
        let batch = try await queue.batch(called: operands[0])
        var jobs = 0
        while true {
            let portion = try await queue.reprioritize(batch, to: priority)
            jobs += portion
            if portion < PostgresJobQueue.reprioritizePortion { break }
        }
        let progress = try await queue.progress(of: batch)
        var line = BatchLine(progress)
        line.priority = priority
        line.jobs = jobs
        let what = jobs == 1 ? "1 job has" : "\(jobs) jobs have"
        try Console.show(line, arguments, "batch \(progress.title): \(what) priority \(priority) now")
        return .done
    }
}
