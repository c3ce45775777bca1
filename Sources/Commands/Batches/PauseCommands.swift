import CommandLine
import JobQueue
import Reports
import Terminal

extension Command {
    private static let origin = Option("origin", .value("URL"), "the origin of this URL instead of a batch")

    static let pause = Command(
        words: ["pause"], operands: "[BATCH]",
        summary: "Pause a batch, a queue, an origin for all workers, or a schedule",
        discussion: """
            Its jobs are no longer claimed. Running jobs continue, and URLs can still be enqueued. An origin is
            paused for --for; anything else until 'larder resume'. A paused schedule leaves out its runs.
            """,
        examples: [
            "larder pause spring", "larder pause --queue default", "larder pause --schedule nightly",
            "larder pause --origin https://images.example.com --for 30m",
        ],
        options: [
            ControlTarget.queueOption, origin, ControlTarget.scheduleOption,
            Option("for", .value("DURATION"), "with --origin: how long, default 1h"), Settings.databaseOption,
        ]
    ) { arguments in
        let target = try ControlTarget.required(
            arguments, of: "pause", or: ControlTarget.queueOption, origin, ControlTarget.scheduleOption)
        guard case .origin(let url) = target else {
            guard !arguments.isGiven("for") else { throw CommandError.usage("pause: --for is for --origin only") }
            return try await setPaused(true, target, arguments)
        }
        let length = try arguments.duration("for") ?? .seconds(3600)
        try await Settings(arguments).openQueue().operations.holdOrigin(url, for: length)
        try Console.show(
            ["origin": ShownURL.text(url), "paused": true], arguments, "origin \(ShownURL.masked(url)): paused")
        return .done
    }

    static let resume = Command(
        words: ["resume"], operands: "[BATCH]",
        summary: "Resume a paused batch, queue or schedule, or an origin that is held",
        discussion: """
            --origin also closes the breaker that failures have opened; 'all' is every origin that is held. Jobs that were
            deferred run at their time. A schedule continues from its next time on.
            """,
        examples: [
            "larder resume spring", "larder resume --queue default", "larder resume --schedule nightly",
            "larder resume --origin https://images.example.com",
        ],
        options: [
            ControlTarget.queueOption,
            Option(origin.name, origin.kind, "the origin of this URL, or 'all', instead of a batch"),
            ControlTarget.scheduleOption, Settings.databaseOption,
        ]
    ) { arguments in
        let target = try ControlTarget.required(
            arguments, of: "resume", or: ControlTarget.queueOption, origin, ControlTarget.scheduleOption)
        guard case .origin(let url) = target else { return try await setPaused(false, target, arguments) }
        let queue = try await Settings(arguments).openQueue()
        let held = try await HeldOriginLine.visible(in: queue)
        let resumed = try await url == "all" ? queue.operations.clearOrigin() : queue.operations.clearOrigin(url)
        try Console.show(["resumed": resumed], arguments, "\(resumed.counted("origin")) resumed")
        if !arguments.flag("json") {
            let rest = Set(try await HeldOriginLine.visible(in: queue).map(\.origin))
            HeldOriginLine.deferred(held.filter { !rest.contains($0.origin) }).forEach(Console.line)
        }
        return .done
    }

    private static func setPaused(
        _ isPaused: Bool, _ target: ControlTarget, _ arguments: Arguments
    ) async throws -> ExitCode {
        let name = target.name
        let word = isPaused ? "paused" : "resumed"
        switch target {
        case .queue:
            let queue = try await Settings(arguments).openQueue()
            if isPaused {
                try await queue.operations.pause(queue: name)
            } else {
                try await queue.operations.resume(queue: name)
            }
            try Console.show(["queue": name, "paused": isPaused], arguments, "queue \(name): \(word)")
        case .schedule:
            let queue = try await Settings(arguments).openQueue()
            if isPaused {
                try await queue.operations.pauseSchedule(name)
            } else {
                try await queue.operations.resumeSchedule(name)
            }
            let line: JSONObject = ["schedule": name, "paused": isPaused]
            try Console.show(line, arguments, "schedule \(PrintableText.text(name)): \(word)")
        default:
            return try await change(name, arguments) { queue, batch in
                if isPaused { try await queue.producer.pause(batch) } else { try await queue.producer.resume(batch) }
                return ([:], "")
            }
        }
        return .done
    }
}
