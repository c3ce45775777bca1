import CommandLine
import FoundationEssentials
import Glibc
import JobQueue
import Reports
import Terminal

extension Command {
    static let status = Command(
        words: ["status"], operands: "[BATCH]",
        summary: "Print the progress of all batches or of one, or a job with its attempts",
        discussion: """
            BATCH is a name or a number. Without it the newest 100 batches are printed, newest first. --watch redraws the
            lines on a terminal, and elsewhere prints a line at each change. While jobs are open, paused queues, queues
            at their limit and held origins are listed as well, as with --health. 'status job:N' is 'status --job N'.
            """,
        examples: ["larder status", "larder status spring --watch", "larder status --job 17 --json"],
        options: [
            ControlTarget.jobOption,
            Option("watch", "print progress until the batch, or every batch, is finished or cancelled"),
            Option("interval", .value("DURATION"), "time between two reads of --watch, default 1s"),
            Option("health", "print what is wrong with the queue and its database; exit code 1 for an error"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let target = try ControlTarget.optional(arguments, of: "status", or: ControlTarget.jobOption)
        let interval = try arguments.duration("interval") ?? .seconds(1)
        if arguments.flag("health"), target != nil { throw CommandError.usage("status: --health takes no BATCH") }
        if arguments.flag("health") { return try await HealthLine.showAll(arguments) }
        let queue = try await Settings(arguments).openQueue()
        if let number = target?.job {
            let report = JobReport(
                job: try await queue.reports.status(ofJob: number),
                attempts: try await queue.reports.attempts(ofJob: number))
            if arguments.flag("json") { try Console.json(report.json) } else { Console.write(report.text) }
            return .done
        }
        let batch: BatchReference? = if let target { try await queue.batch(called: target.name) } else { nil }
        func waits() async throws -> [String] {
            let queues = try await QueueLine.waiting(in: queue), origins = try await HeldOriginLine.all(in: queue)
            return first(queues, more: "queues wait; 'larder queue list' lists all")
                + first(origins, more: "origins are held; 'larder origin list' lists all")
        }
        let view = StatusView(
            json: arguments.flag("json"), isTerminal: Console.isTerminal(STDOUT_FILENO), waits: waits
        ) {
            if let batch {
                [try await queue.reports.progress(of: batch)]
            } else {
                try await queue.reports.progress(limit: 100)
            }
        }
        if arguments.flag("watch") {
            try await view.follow(interval: interval)
        } else if try await view.show() {
            // With --json every line is a batch; 'status --health --json' lists queues at their limits and held
            // origins.
            for line in try await waits() { Console.line(line) }
        }
        return .done
    }

    /// The first 20 lines, and how many there are beyond them.
    private static func first(_ lines: [String], more: String) -> [String] {
        let most = 20
        return lines.prefix(most) + (lines.count > most ? ["\(lines.count - most) more \(more)"] : [])
    }
}
