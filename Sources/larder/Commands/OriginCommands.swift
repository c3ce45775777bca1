import ImageModel
import JobQueue

extension Command {
    static let originList = Command(
        words: ["origin", "list"], operands: "",
        summary: "List the origins that are held for all workers, for how long and why",
        examples: ["larder origin list"],
        options: [Settings.databaseOption]
    ) { arguments in
        _ = try await DatabaseCalls.open(arguments) { database in
            for held in try await database.queue.heldOrigins() {
                let seconds = Int(held.remaining.components.seconds)
                let failure = held.failure
                let error = failure.map { "\t\($0.domain) \($0.code)" } ?? ""
                let state = held.isGivenUp ? ", given up" : ""
                try database.show(
                    held.json, arguments,
                    "\(held.origin)\t\(held.reason.rawValue)\(state)\t\(seconds) s\(error)")
            }
        }
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
        _ = try await DatabaseCalls.open(arguments) { database in
            for operand in operands { try await database.queue.holdOrigin(operand, for: length) }
            if arguments.flag("json") { try Console.json((["held": operands.count] as JSONObject).of(database.label)) }
        }
        return .done
    }

    static let originClear = Command(
        words: ["origin", "clear"], operands: "[URL...]",
        summary: "Clear the holds and breakers of these URLs' origins, or of all; deferred jobs run at their time",
        examples: ["larder origin clear https://example.com"],
        options: [Settings.databaseOption]
    ) { arguments in
        let operands = try arguments.operands()
        _ = try await DatabaseCalls.open(arguments) { database in
            let queue = database.queue
            let held = try await HeldOriginLine.visible(in: queue)
            var cleared = 0
            if operands.isEmpty { cleared = try await queue.clearOrigin() }
            for operand in operands { cleared += try await queue.clearOrigin(operand) }
            try database.show(["cleared": cleared], arguments, "\(cleared.counted("origin")) cleared")
            if !arguments.flag("json") {
                let rest = Set(try await HeldOriginLine.visible(in: queue).map(\.origin))
                for line in HeldOriginLine.deferred(held.filter { !rest.contains($0.origin) }) {
                    Console.line(database.column + line)
                }
            }
        }
        return .done
    }
}
