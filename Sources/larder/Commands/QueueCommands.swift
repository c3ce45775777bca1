import JobQueue

extension Command {
    static let queueList = Command(
        words: ["queue", "list"], operands: "",
        summary: "List the queues with their limits, the jobs that run, and why jobs wait",
        examples: ["larder queue list"],
        options: [Settings.databaseOption]
    ) { arguments in
        _ = try await DatabaseCalls.open(arguments) { database in
            for queue in try await database.queue.queues() {
                try database.show(queue.json, arguments, QueueLine.text(queue))
            }
        }
        return .done
    }

    static let queueLimit = Command(
        words: ["queue", "limit"], operands: "NAME",
        summary: "Limit the jobs of a queue that all workers together run at once or claim per second",
        discussion: """
            Both limits are set: one that is not given is removed. They hold in each database by itself. While more
            jobs run than a lowered --max-running allows, none is claimed; running jobs continue. As many jobs as
            --max-rate, and at least one, may be claimed at once.
            """,
        examples: ["larder queue limit nightly --max-running 20 --max-rate 5", "larder queue limit nightly"],
        options: [
            Option("max-running", .value("N"), "jobs that run at once, at least 1; no limit by default"),
            Option("max-rate", .value("R"), "jobs per second, 0.001 to 1000000; no limit by default"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let name = try arguments.operand("NAME", of: "queue limit")
        let running = try arguments.number("max-running", in: 1...Int(Int32.max))
        let rate = try arguments.value("max-rate").map { (text) throws(CommandError) in
            guard let rate = Double(text), (0.001...1_000_000).contains(rate) else {
                throw .usage("--max-rate: '\(text)' is not a number from 0.001 to 1000000")
            }
            return rate
        }
        _ = try await DatabaseCalls.open(arguments) { database in
            try await database.queue.limitQueue(name, maxRunning: running, maxRate: rate)
            try database.show(
                ["queue": name, "maxRunning": running, "maxRate": rate], arguments,
                "queue \(name): \(QueueLine.limits(running, rate))")
        }
        return .done
    }
}
