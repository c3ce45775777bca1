import JobQueue

extension Command {
    static let status = Command(
        words: ["status"], operands: "[BATCH]",
        summary: "Progress of all batches or of one, by name or number; or a job with its attempts",
        discussion: "'status job:N' is 'status --job N'.",
        options: [
            ControlTarget.jobOption,
            Option("watch", "follow it until it is finished"),
            Option("interval", .value("TIME"), "between two looks of --watch, default 1s"),
            Option("health", "tell what is wrong with the queue and its database; exit code 1 for an error"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let target = try ControlTarget.optional(arguments, of: "status", or: ControlTarget.jobOption)
        let json = arguments.flag("json")
        let interval = try arguments.duration("interval") ?? .seconds(1)
        let queue = try await Settings(arguments).openQueue()
        if arguments.flag("health") {
            guard target == nil else { throw CommandError.usage("status: --health takes no BATCH") }
            let findings = try await queue.health()
            if findings.isEmpty && !json { Console.line("nothing is wrong") }
            for finding in findings { try HealthLine(finding).show(json: json) }
            return findings.contains { $0.severity == .error } ? .failed : .done
        }
        if let number = target?.job {
            let report = JobReport(try await queue.status(ofJob: number), try await queue.attempts(ofJob: number))
            if json { try Console.json(report) } else { Console.write(report.text) }
            return .done
        }
        guard case .batch(let name) = target else {
            for progress in try await queue.progress(limit: 100) { try show(progress, json: json) }
            return .done
        }
        let batch = try await queue.batch(called: name)
        guard arguments.flag("watch") else {
            try show(try await queue.progress(of: batch), json: json)
            return .done
        }
        if !json {
            try await ProgressWatch(queue: queue, tell: Console.noteRaw, interval: interval).follow(batch)
            return .done
        }
        while true {
            let progress = try await queue.progress(of: batch)
            try show(progress, json: true)
            if progress.state == .finished || progress.state == .cancelled { return .done }
            try await Task.sleep(for: interval)
        }
    }

    private static func show(_ progress: BatchProgress, json: Bool) throws {
        if json {
            try Console.json(ReportJSON(progress))
        } else {
            let line = ProgressBar.line(
                finished: progress.finished, total: progress.total, skipped: progress.skipped,
                note: progress.state == .finished || progress.state == .cancelled ? "" : ProgressText.pace(progress),
                width: 0)
            let times = ProgressText.times(progress)
            Console.line(
                "\(progress.name ?? "\(progress.id)"): \(progress.state.rawValue), \(line)\(times.isEmpty ? "" : ", " + times)"
            )
            if !progress.topErrors.isEmpty { Console.line("  errors: \(ProgressText.errors(progress))") }
        }
    }
}
