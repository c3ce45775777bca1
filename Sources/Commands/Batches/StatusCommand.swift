import CommandLine
import FoundationEssentials
import Glibc
import JobQueue
import Reports
import Terminal

extension Command {
    static let status = Command(
        words: ["status"],
        also: [
            "ls": "", "list": "", "lookup": "", "health": "--health", "metrics": "--metrics", "queue list": "--queues",
            "origin list": "--origins", "schedule list": "--schedules",
        ], operands: "[BATCH | URL...]",
        summary: "Print the progress of batches, what became of URLs, a job, or the state of the queues",
        discussion: """
            BATCH is a name or a number. Without it the newest 100 batches are printed, newest first. --watch redraws the
            lines on a terminal, and elsewhere prints a line at each change. While jobs are open, paused queues, queues
            at their limit and held origins are listed as well, as with --health. 'status job:N' is 'status --job N'.
            For a URL its state is printed (ready, scheduled, running, suspended, completed with its outcome, or unknown)
            and the files of its last completed job with key and path, from the database alone and for one pipeline.
            --health prints nothing but 'nothing is wrong' when all is well, and ends with exit code 1 for an error.
            --metrics prints the queues' metrics in Prometheus' text format, for runs from cron. They also have the
            outcomes, end and duration of the last run of the 50 batch names that ended last.
            """,
        examples: [
            "larder status", "larder status spring --watch", "larder status --job 17 --json",
            "larder status https://example.com/a.jpg --pipeline card", "larder status --health --warnings",
            "larder status --metrics --textfile larder.prom",
        ],
        options: [
            ControlTarget.jobOption,
            Option("watch", "print progress until the batch, or every batch, is finished or cancelled"),
            Option("interval", .value("DURATION"), "time between two reads of --watch, default 1s"),
            Option("queues", "list the queues with their limits, the jobs that run, and why jobs wait"),
            Option("origins", "list the origins that are held, for how long and why, and those with limits"),
            Option("schedules", "list the schedules, when each is next due, and what its last run did"),
            Option("health", "print what is wrong with the queue, its workers and its database"),
            Option("warnings", "with --health: end with exit code 1 for a warning, too"),
            Option("metrics", "print the metrics of the queues for Prometheus"),
            Option("textfile", .value("FILE"), "with --metrics: write FILE, complete or not at all"),
        ] + URLStatusReport.options + [Settings.databaseOption]
    ) { arguments in
        if let view = try StatusTable(arguments) { return try await view.show(arguments) }
        if try URLStatusReport.isWanted(arguments) { return try await URLStatusReport.show(arguments) }
        let target = try ControlTarget.optional(arguments, of: "status", or: ControlTarget.jobOption)
        let interval = try arguments.duration("interval") ?? .seconds(1)
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
            return first(queues, more: "queues wait; 'larder status --queues' lists all")
                + first(origins, more: "origins are held; 'larder status --origins' lists all")
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
            // With --json every line is a batch; 'status --health --json' lists limited queues and paused origins.
            for line in try await waits() { Console.line(line) }
        }
        return .done
    }

    /// The first 20 lines, and the number of further ones.
    private static func first(_ lines: [String], more: String) -> [String] {
        let most = 20
        return lines.prefix(most) + (lines.count > most ? ["\(lines.count - most) more \(more)"] : [])
    }
}
