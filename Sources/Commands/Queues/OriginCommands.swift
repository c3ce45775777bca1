import CommandLine
import ImageModel
import JobQueue
import Reports
import Terminal

extension Command {
    static let originList = Command(
        words: ["origin", "list"], operands: "",
        summary: "List the origins that are held for all workers, for how long and why, and those with limits",
        examples: ["larder origin list"],
        options: [Settings.databaseOption]
    ) { arguments in
        let queue = try await Settings(arguments).openQueue()
        for held in try await queue.reports.heldOrigins() {
            let seconds = Int(held.remaining.components.seconds)
            let failure = held.failure
            let error = failure.map { "\t\($0.domain) \($0.code)" } ?? ""
            try Console.show(
                held.json, arguments, "\(held.origin)\t\(held.reason.rawValue)\t\(seconds) s\(error)")
        }
        for limited in try await queue.reports.limitedOrigins() {
            try Console.show(limited.json, arguments, QueueLine.text(limited))
        }
        return .done
    }

    static let originLimit = Command(
        words: ["origin", "limit"], operands: "URL...",
        summary: "Limit the jobs of these URLs' origins that all workers together run at once or claim per second",
        discussion: """
            Both limits are set, in all queues: one that is not given is removed. Jobs beyond a limit are scheduled for the
            time at which the origin will probably have a place for them. 'larder origin list' shows the limits.
            """,
        examples: [
            "larder origin limit https://images.example.com --max-running 4 --max-rate 10",
            "larder origin limit https://images.example.com",
        ],
        options: QueueLimitOptions.options + [Settings.databaseOption]
    ) { arguments in
        let operands = try arguments.operands("URL", of: "origin limit")
        let (running, rate) = try QueueLimitOptions.values(arguments)
        let queue = try await Settings(arguments).openQueue()
        for operand in operands { try await queue.operations.limitOrigin(operand, maxRunning: running, maxRate: rate) }
        try Console.show(
            ["limited": operands.count, "maxRunning": running, "maxRate": rate], arguments,
            "\(operands.count.counted("origin")): \(QueueLine.limits(running, rate))")
        return .done
    }

    static let originHold = Command(
        words: ["origin", "hold"], operands: "URL...",
        summary: "Hold the origins of these URLs for all workers; their jobs wait",
        examples: ["larder origin hold https://example.com --for 30m"],
        options: [Option("for", .value("DURATION"), "duration of the hold, default 1h"), Settings.databaseOption]
    ) { arguments in
        let length = try arguments.duration("for") ?? .seconds(3600)
        let operands = try arguments.operands("URL", of: "origin hold")
        let queue = try await Settings(arguments).openQueue()
        for operand in operands { try await queue.operations.holdOrigin(operand, for: length) }
        if arguments.flag("json") { try Console.json(["held": operands.count] as JSONObject) }
        return .done
    }

    static let originClear = Command(
        words: ["origin", "clear"], operands: "[URL...]",
        summary: "Clear the holds and breakers of these URLs' origins, or of all; deferred jobs run at their time",
        examples: ["larder origin clear https://example.com"],
        options: [Settings.databaseOption]
    ) { arguments in
        let operands = try arguments.operands()
        let queue = try await Settings(arguments).openQueue()
        let held = try await HeldOriginLine.visible(in: queue)
        var cleared = 0
        if operands.isEmpty { cleared = try await queue.operations.clearOrigin() }
        for operand in operands { cleared += try await queue.operations.clearOrigin(operand) }
        try Console.show(["cleared": cleared], arguments, "\(cleared.counted("origin")) cleared")
        if !arguments.flag("json") {
            let rest = Set(try await HeldOriginLine.visible(in: queue).map(\.origin))
            HeldOriginLine.deferred(held.filter { !rest.contains($0.origin) }).forEach(Console.line)
        }
        return .done
    }
}
