import JobQueue
import Worker

/// What `larder work` prints when its worker has ended.
struct WorkResult {
    let summary: PrefetchWorker.Summary
    /// The name of the queue.
    let queue: String
    let log: EventLog
    let json: Bool
    let isQuiet: Bool

    /// Prints it, and returns the exit code.
    ///
    /// - Parameter drained: the queue whose held work is reported; nil after a worker that did not drain it.
    func show(heldIn drained: PostgresJobQueue?) async throws -> ExitCode {
        if let other = summary.other {
            if json { try printJSON(left: "other") }
            if !isQuiet { log.say("other_drain", .info, DrainOverlap.text(other, queue: queue)) }
            return .done
        }
        var left = "\(summary.left)"
        if let drained {
            do {
                if try await showHeld(in: drained), summary.left == .nothing { left = "held" }
            } catch {
                // The exit code of the time limit comes first.
                guard summary.timeIsUp else { throw error }
                log.say("held", .warning, "held work is unknown: \(error)")
            }
        }
        let code = ExitCode(summary, someFailed: summary.failed > 0)
        if json {
            try printJSON(left: left)
        } else if !isQuiet || code != .done || left != "nothing" {
            printText(left: left)
        }
        return code
    }

    /// Logs what an operator has paused or must resume, what is due later and the origins that are held; true when
    /// there is work of the first kind.
    private func showHeld(in drained: PostgresJobQueue) async throws -> Bool {
        let held = try await HeldWork(of: queue, in: drained)
        for line in held.lines { log.say("held", .warning, line) }
        if summary.left == .later, let line = held.later() { log.say("later", .info, line) }
        if summary.left != .nothing {
            for line in try await HeldOriginLine.all(in: drained) { log.say("origin_held", .warning, line) }
        }
        return !held.isEmpty
    }

    /// - Parameter left: `nothing`, `later`, `work`, `held` when only paused or suspended work is left, `other` when
    ///   another drain does the work.
    private func printJSON(left: String) throws {
        try Console.json([
            "succeeded": summary.succeeded, "failed": summary.failed, "retried": summary.retried, "left": left,
        ])
    }

    private func printText(left: String) {
        let text = "\(summary.succeeded) succeeded, \(summary.failed) failed, \(summary.retried) retried"
        guard log.json else { return Console.line(text) }
        log.say(
            "ended", .info, text,
            [
                ("succeeded", summary.succeeded), ("failed", summary.failed), ("retried", summary.retried),
                ("left", left),
            ])
    }
}
