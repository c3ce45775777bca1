import Foundation
import Glibc
import JobQueue

extension Command {
    static let status = Command(
        words: ["status"], operands: "[BATCH]",
        summary: "Progress of all batches or of one, by name or number; or a job with its attempts",
        discussion: """
            Without a BATCH the newest 100, newest first, each by its name, if it has one, and number. --watch follows on
            standard output: on a terminal the lines are redrawn, elsewhere a line is printed at each change. While work
            is open the origins that are held just now follow, and until when; --health has them with --json, too. 'status
            job:N' is 'status --job N'.
            """,
        examples: ["larder status", "larder status spring --watch", "larder status --job 17 --json"],
        options: [
            ControlTarget.jobOption,
            Option("watch", "follow the batch, or all, until finished or cancelled"),
            Option("interval", .value("DURATION"), "between two looks of --watch, default 1s"),
            Option("health", "tell what is wrong with the queue and its database; exit code 1 for an error"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let target = try ControlTarget.optional(arguments, of: "status", or: ControlTarget.jobOption)
        let json = arguments.flag("json")
        let interval = try arguments.duration("interval") ?? .seconds(1)
        let isTerminal = Console.isTerminal(STDOUT_FILENO)
        if arguments.flag("health"), target != nil { throw CommandError.usage("status: --health takes no BATCH") }
        let queue = try await Settings(arguments).openQueue()
        if arguments.flag("health") {
            let findings = try await queue.health()
            let origins = try await HeldOriginLine.visible(in: queue).map { HeldOriginLine.health($0, now: .now) }
            if findings.isEmpty && origins.isEmpty && !json { Console.line("nothing is wrong") }
            // By severity, the worst first, as the view has them.
            let lines = findings.map { HealthLine($0) } + origins
            for severity in HealthLine.severities {
                for line in lines where line.severity == severity.rawValue { try line.show(json: json) }
            }
            return findings.contains { $0.severity == .error } ? .failed : .done
        }
        if let number = target?.job {
            let report = JobReport(try await queue.status(ofJob: number), try await queue.attempts(ofJob: number))
            if json { try Console.json(report) } else { Console.write(report.text) }
            return .done
        }
        guard case .batch(let name) = target else {
            if arguments.flag("watch") {
                try await BatchesWatch(queue: queue, interval: interval, json: json, isTerminal: isTerminal).follow()
            } else {
                let batches = try await queue.progress(limit: BatchesWatch.most)
                for progress in batches { try show(progress, json: json) }
                if !json, batches.contains(where: { !$0.isOver }) { try await tellHeldOrigins(queue) }
            }
            return .done
        }
        let batch = try await queue.batch(called: name)
        guard arguments.flag("watch") else {
            let progress = try await queue.progress(of: batch)
            try show(progress, json: json)
            if !json, !progress.isOver { try await tellHeldOrigins(queue) }
            return .done
        }
        if !json {
            try await ProgressWatch(queue: queue, tell: Console.write, isTerminal: isTerminal, interval: interval)
                .follow(batch)
            return .done
        }
        while true {
            let progress = try await queue.progress(of: batch)
            try show(progress, json: true)
            if progress.isOver { return .done }
            try await Task.sleep(for: interval)
        }
    }

    private static func show(_ progress: BatchProgress, json: Bool) throws {
        if json { try Console.json(ReportJSON(progress)) } else { Console.write(StatusText.text(progress)) }
    }

    /// Why work that is open may not move. For programs it stands in `--health --json`: here each line is a batch.
    private static func tellHeldOrigins(_ queue: PostgresJobQueue) async throws {
        for line in try await HeldOriginLine.all(in: queue).prefix(20) { Console.line(line) }
    }
}
