import JobQueue
import Monitoring
import Reports
import Terminal
import Worker

/// What `larder work` prints when its worker has ended.
struct WorkResult {
    let summary: PrefetchWorker.Summary
    /// The name of the queue.
    let queue: String
    let log: EventLog
    let json: Bool
    let isQuiet: Bool
    let hint: WorkerHint

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
        let code = ExitCode(summary, someFailed: summary.failed > 0 || hint.hasStopped)
        if json {
            try printJSON(left: left)
        } else if !isQuiet || code != .done || left != "nothing" {
            printText(left: left)
        }
        sayNext()
        return code
    }

    /// Says how to go on: with the work that is left, or with the images that failed for this worker's options.
    private func sayNext() {
        if let differing = hint.differing {
            say(.warning, "\(differing); 'larder enqueue' with --remake makes them again")
        }
        if hint.hasStopped {
            say(.error, "the first jobs all failed for this worker's options; this makes them: \(hint.work.line)")
        } else if hint.isNeeded {
            say(.warning, "images failed for this worker's options; this makes them: \(hint.retry.line)")
        } else if summary.left == .work, !isQuiet {
            say(.info, "work is left; this continues: \(hint.work.line)")
        }
    }

    /// A line of its own, from which a command can be copied, unless the log is JSON.
    private func say(_ level: EventLog.Level, _ text: String) {
        if log.json { log.say("next", level, text) } else { Console.note("larder: \(text)") }
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

extension ExitCode {
    /// The exit code of `run` and `work`.
    ///
    /// - Parameter someFailed: whether an item failed, or is left without a requested shutdown.
    init(_ summary: PrefetchWorker.Summary, someFailed: Bool) {
        switch summary.left {
        // Work is also left after a requested shutdown, or when an operator suspended it.
        case .work where summary.timeIsUp, .later where summary.timeIsUp: self = .timeLimitReached
        case .later: self = .onlyLaterWorkLeft
        case .work, .nothing: self = someFailed ? .failed : .done
        }
    }
}
