import CommandLine
import JobQueue
import Lists
import Terminal
import Worker

extension Command {
    static let prioritize = Command(
        words: ["prioritize"], operands: "BATCH P | --job N [P]",
        summary: "Change the priority of a batch's open jobs, 0 first to 9 last, or the priority or time of one job",
        discussion: """
            The priority of a job that another batch also needs is only raised. --job changes one job that is not complete,
            for every batch that has it; N is its number, as enqueue and status print it. --at applies to a ready or
            scheduled job: it does not run before then, and a time that has passed makes it ready.
            """,
        examples: [
            "larder prioritize spring 0", "larder prioritize --job 17 0",
            "larder prioritize --job 17 --at 2026-12-24T06:00:00Z",
        ],
        options: [
            ControlTarget.jobOption,
            Option(
                "at", .value("TIME"),
                "with --job: start at this time (2026-11-21T18:00:00Z) or after a delay (+10m)"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let operands = try arguments.operands()
        // The variables are meant for enqueueing.
        if arguments.isGiven("job") { return try await change(job: arguments.value("job") ?? "", operands, arguments) }
        guard operands.count == 2, !operands[0].isEmpty else {
            throw CommandError.usage("prioritize: BATCH and a priority from 0 to 9, or --job, are required")
        }
        guard !arguments.isGiven("at") else { throw CommandError.usage("prioritize: --at is for --job only") }
        let priority = try priority(operands[1])
        return try await change(operands[0], arguments) { queue, batch in
            let jobs = try await inPortions(of: PostgresJobQueue.Producer.reprioritizePortion) {
                try await queue.producer.reprioritize(batch, to: priority)
            }
            return (["priority": priority, "jobs": jobs], "priority \(priority) for \(jobs.counted("job")), ")
        }
    }

    private static func change(job text: String, _ operands: [String], _ arguments: Arguments) async throws -> ExitCode
    {
        let job = try ControlTarget.jobNumber(text, label: "--job")
        guard operands.count <= 1 else {
            throw CommandError.usage("prioritize: --job takes a priority and no BATCH")
        }
        guard !operands.isEmpty || arguments.isGiven("at") else {
            throw CommandError.usage("prioritize: --job needs a priority from 0 to 9 or --at")
        }
        let priority = try operands.first.map(priority)
        let at = arguments.isGiven("at") ? try arguments.value("at") : nil
        let start = try at.map { (text) throws(CommandError) in try EnqueueOptions.start(text, of: "at") }
        let state = try await Settings(arguments).openQueue().producer.change(
            job: job, priority: priority, start: start)
        let isIgnored = start != nil && state != .ready && state != .scheduled
        try Console.show(
            ["job": job, "state": state.rawValue], arguments,
            "job \(job): \(state.rawValue)\(isIgnored ? "; its time does not change" : "")")
        return .done
    }

    private static func priority(_ text: String) throws(CommandError) -> Int {
        guard let priority = Int(text), (0...9).contains(priority) else {
            throw .usage("prioritize: '\(text)' is not a priority from 0 to 9")
        }
        return priority
    }

    /// Repeats a call that handles up to `size` rows until it handles fewer.
    private static func inPortions(of size: Int, _ call: () async throws -> Int) async throws -> Int {
        var sum = 0
        while true {
            let portion = try await call()
            sum += portion
            if portion < size { return sum }
        }
    }
}
