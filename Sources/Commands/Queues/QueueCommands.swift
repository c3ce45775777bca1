import CommandLine
import JobQueue
import Reports
import Terminal

extension Command {
    static let queueSet = Command(
        words: ["queue", "set"], operands: "NAME",
        summary: "Create a queue, or change its limits, its order, its time limit and how long its batches are kept",
        discussion: """
            A setting that is not given stays as it is. --max-running and --max-rate limit the jobs of the queue that all
            workers together run at once or claim per second. They are set together: when only one is given, the other is
            removed. While more jobs run than a lowered --max-running allows, none is claimed; running jobs continue. As
            many jobs as --max-rate, and at least one, may be claimed at once.
            """,
        examples: [
            "larder queue set nightly --keep-history 7d", "larder queue set previews --order newest",
            "larder queue set nightly --max-running 20 --max-rate 5", "larder queue set nightly --max-running none",
        ],
        options: QueueLimitOptions.options + [
            Option(
                "keep-history", .value("DURATION"),
                "delete its finished batches and their records after this time, 1h to 3650d, if all history is kept as long"
            ),
            Option("order", .value("ORDER"), "what is claimed first within a priority: oldest or newest"),
            Option(
                "low-priority-every", .value("N"),
                "every Nth claim starts at a lower priority, 0 to 1000; 0 never; a new queue has 8"),
            Option(
                "job-timeout", .value("DURATION"),
                "how long a worker may hold a job, 1s to 30d; a new queue has 10m"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let name = try arguments.operand("NAME", of: "queue set")
        let day = Duration.seconds(86_400)
        let history = try arguments.duration("keep-history", in: .seconds(3600)...(day * 3650), "1h to 3650d")
        let order = try arguments.choice("order", of: ["oldest", "newest"])
        let every = try arguments.number("low-priority-every", in: 0...1000)
        let timeout = try arguments.duration("job-timeout", in: .seconds(1)...(day * 30), "1s to 30d")
        let limits = try QueueLimitOptions.values(arguments)
        let queue = try await Settings(arguments).openQueue()
        try await queue.operations.setQueue(
            name, lifo: order.map { $0 == "newest" }, lowPriorityEvery: every, jobTimeout: timeout,
            keepHistory: history)
        if let limits {
            try await queue.operations.limitQueue(name, maxRunning: limits.running, maxRate: limits.rate)
        }
        guard let set = try await queue.reports.queues().first(where: { $0.name == name }) else { return .failed }
        try Console.show(set.json, arguments, QueueLine.text(set))
        return .done
    }
}

/// The two limits of `queue set` and `origin set`, over all workers, which are set together.
enum QueueLimitOptions {
    static let options = [
        Option("max-running", .value("N"), "jobs that run at once, at least 1; none removes the limit"),
        Option("max-rate", .value("R"), "jobs per second, 0.001 to 1000000; none removes the limit"),
    ]

    /// Both limits, nil for no limit; nil if neither is given.
    static func values(_ arguments: Arguments) throws(CommandError) -> (running: Int?, rate: Double?)? {
        let texts = (running: try arguments.value("max-running"), rate: try arguments.value("max-rate"))
        guard texts != (nil, nil) else { return nil }
        let running = texts.running == "none" ? nil : try arguments.number("max-running", in: 1...Int(Int32.max))
        let rate = try (texts.rate == "none" ? nil : texts.rate).map { (text) throws(CommandError) in
            guard let rate = Double(text), (0.001...1_000_000).contains(rate) else {
                throw .usage("\(arguments.label("max-rate")): '\(text)' is not a number from 0.001 to 1000000")
            }
            return rate
        }
        return (running, rate)
    }
}

extension Command {
    static let originSet = Command(
        words: ["origin", "set"], operands: "URL...",
        summary: "Limit the jobs of these URLs' origins that all workers together run at once or claim per second",
        discussion: """
            Both limits are set, in all queues: one that is not given is removed. Jobs beyond a limit are scheduled for the
            time at which the origin will probably have a place for them. 'larder status --origins' shows the limits.
            """,
        examples: [
            "larder origin set https://images.example.com --max-running 4 --max-rate 10",
            "larder origin set https://images.example.com --max-running none",
        ],
        options: QueueLimitOptions.options + [Settings.databaseOption]
    ) { arguments in
        let operands = try arguments.operands("URL", of: "origin set")
        guard let (running, rate) = try QueueLimitOptions.values(arguments) else {
            throw CommandError.usage("origin set: --max-running or --max-rate is required; 'none' removes both limits")
        }
        let queue = try await Settings(arguments).openQueue()
        for operand in operands { try await queue.operations.limitOrigin(operand, maxRunning: running, maxRate: rate) }
        try Console.show(
            ["limited": operands.count, "maxRunning": running, "maxRate": rate], arguments,
            "\(operands.count.counted("origin")): \(QueueLine.limits(running, rate))")
        return .done
    }
}
