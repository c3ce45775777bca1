import FoundationEssentials
import Glibc
import JobQueue

extension Command {
    static let status = Command(
        words: ["status"], operands: "[BATCH]",
        summary: "Print the progress of all batches or of one, or a job with its attempts",
        discussion: """
            BATCH is a name or a number. Without it the newest 100 batches are printed, newest first. --watch redraws the
            lines on a terminal, and elsewhere prints a line at each change. While jobs are open, paused queues, queues
            at their limit and held origins are listed as well, as with --health. 'status job:N' is 'status --job N'.
            The batches of several databases are one list, each with its database.
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
        if let number = target?.job {
            let queue = try await Settings(arguments).openQueue()
            let report = JobReport(
                job: try await queue.status(ofJob: number), attempts: try await queue.attempts(ofJob: number))
            if arguments.flag("json") { try Console.json(report.json) } else { Console.write(report.text) }
            return .done
        }
        var calls = try DatabaseCalls(arguments)
        let databases: [OpenDatabase]
        let batch: BatchReference?
        if let target {
            let database = try await Settings(arguments).finding(target.name).open()
            batch = try await database.queue.batch(called: target.name)
            databases = [database]
        } else {
            batch = nil
            databases = try await calls.open { $0 }
        }
        func waits() async throws -> [String] {
            var queues: [String] = [], origins: [String] = []
            for database in databases {
                queues += try await QueueLine.waiting(in: database.queue).map { database.column + $0 }
                origins += try await HeldOriginLine.all(in: database.queue).map { database.column + $0 }
            }
            return first(queues, more: "queues wait; 'larder queue list' lists all")
                + first(origins, more: "origins are held; 'larder origin list' lists all")
        }
        let view = StatusView(
            json: arguments.flag("json"), isTerminal: Console.isTerminal(STDOUT_FILENO), waits: waits
        ) {
            try await databases.progress(of: batch)
        }
        if arguments.flag("watch") {
            try await view.follow(interval: interval)
        } else if try await view.show() {
            // With --json every line is a batch; 'status --health --json' lists queues at their limits and held
            // origins.
            for line in try await waits() { Console.line(line) }
        }
        try calls.end()
        return .done
    }

    /// The first 20 lines, and how many there are beyond them.
    private static func first(_ lines: [String], more: String) -> [String] {
        let most = 20
        return lines.prefix(most) + (lines.count > most ? ["\(lines.count - most) more \(more)"] : [])
    }
}

extension [OpenDatabase] {
    /// The progress of the batch, which is in the only database; without one that of the newest 100 batches of all
    /// databases, newest first.
    fileprivate func progress(of batch: BatchReference?) async throws -> [StatusView.Line] {
        var lines: [StatusView.Line] = []
        for database in self {
            do {
                let batches =
                    if let batch { [try await database.queue.progress(of: batch)] } else {
                        try await database.queue.progress(limit: 100)
                    }
                lines += batches.map { StatusView.Line(database: database.label, batch: $0) }
            } catch {
                guard database.label != nil else { throw error }
                throw CommandError(error).of(database.label)
            }
        }
        guard count > 1 else { return lines }
        let newestFirst = lines.sorted { ($0.batch.openedAt, $0.batch.id) > ($1.batch.openedAt, $1.batch.id) }
        return [StatusView.Line](newestFirst.prefix(100))
    }
}
