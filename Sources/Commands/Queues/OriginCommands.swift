import CommandLine
import JobQueue
import Terminal

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
