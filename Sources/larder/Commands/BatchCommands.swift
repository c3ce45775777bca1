import JobQueue

/// What operators do to the failures and the order of a batch.
extension Command {
    static let drop = Command(
        words: ["drop"], operands: "BATCH",
        summary: "Be done with the failed items of a batch",
        discussion: "They are no longer listed as failed, nor tried again by retry; the counts stay.",
        options: [Settings.databaseOption]
    ) { arguments in
        let (queue, batch) = try await target(arguments, operands: ["BATCH"])
        let line = ChangedBatch(try await queue.progress(of: batch), dropped: try await queue.dropFailed(of: batch))
        try show(line, arguments, "batch \(line.batch): \(line.dropped ?? 0) failed items dropped")
        return .done
    }

    static let prioritize = Command(
        words: ["prioritize"], operands: "BATCH P",
        summary: "Give the open jobs of a batch another priority, 0 first to 9 last",
        discussion: "A job that another batch waits for, too, can only come sooner.",
        options: [Settings.databaseOption]
    ) { arguments in
        let operands = try arguments.operands()
        guard operands.count == 2, let priority = Int(operands[1]), (0...9).contains(priority) else {
            throw CommandError.usage("prioritize: a BATCH and a priority from 0 to 9")
        }
        let (queue, batch) = try await target(arguments, operands: ["BATCH", "P"])
        var jobs = 0
        while true {
            let portion = try await queue.reprioritize(batch, to: priority)
            jobs += portion
            if portion < PostgresJobQueue.reprioritizePortion { break }
        }
        let line = ChangedBatch(try await queue.progress(of: batch), priority: priority, jobs: jobs)
        try show(line, arguments, "batch \(line.batch): \(jobs) jobs have priority \(priority)")
        return .done
    }

    private static func target(
        _ arguments: Arguments, operands names: [String]
    ) async throws -> (PostgresJobQueue, BatchReference) {
        let operands = try arguments.operands()
        guard operands.count == names.count, let name = operands.first, !name.isEmpty else {
            throw CommandError.usage("drop: which BATCH? One, by name or number")
        }
        let queue = try await Settings(arguments).openQueue()
        return (queue, try await queue.batch(called: name))
    }

    private static func show(_ line: ChangedBatch, _ arguments: Arguments, _ text: String) throws {
        if arguments.flag("json") { try Console.json(line) } else { Console.line(text) }
    }
}

/// A batch after its failures or its order changed.
private struct ChangedBatch: Encodable {
    let batch: String
    let id: Int64
    var dropped: Int?
    var priority: Int?
    var jobs: Int?

    init(_ progress: BatchProgress, dropped: Int? = nil, priority: Int? = nil, jobs: Int? = nil) {
        batch = progress.name ?? "\(progress.id)"
        id = progress.id
        self.dropped = dropped
        self.priority = priority
        self.jobs = jobs
    }
}
