import FoundationEssentials
import Glibc
import JobQueue
import Monitoring
import Reports
import Terminal
import Worker

/// The output of `larder work` after its worker has ended.
struct WorkResult {
    let summary: PrefetchWorker.Summary
    let queue: String
    let log: EventLog
    let json: Bool
    let isQuiet: Bool
    let hint: WorkerHint

    /// Prints it and returns the exit code.
    ///
    /// - Parameter drained: the queue whose paused work is reported; nil if the worker did not drain it.
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
                // The time limit's exit code takes precedence.
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

    /// Prints the next command: for the remaining work, or for images that failed because of this worker's options.
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

    /// A separate line for copying the command, unless the log is JSON.
    private func say(_ level: EventLog.Level, _ text: String) {
        if log.json { log.say("next", level, text) } else { Console.note("larder: \(text)") }
    }

    /// Logs work that an operator paused or must resume, work due later, and paused origins; true if there is work of
    /// the first kind.
    private func showHeld(in drained: PostgresJobQueue) async throws -> Bool {
        let held = try await HeldWork(of: queue, in: drained)
        for line in held.lines { log.say("held", .warning, line) }
        if summary.left == .later, let line = held.later() { log.say("later", .info, line) }
        if summary.left != .nothing {
            for line in try await HeldOriginLine.all(in: drained) { log.say("origin_held", .warning, line) }
        }
        return !held.isEmpty
    }

    /// - Parameter left: `nothing`, `later`, `work`, `held` if only paused or suspended work is left, `other` if
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
        // Work is also left after a requested shutdown, or if an operator suspended it.
        case .work where summary.timeIsUp, .later where summary.timeIsUp: self = .timeLimitReached
        case .later: self = .onlyLaterWorkLeft
        case .work, .nothing: self = someFailed ? .failed : .done
        }
    }
}

/// A drain that finds another one for the same queue, cache and machine.
enum DrainOverlap {
    /// Longer than a lease of 15 s.
    private static let patience = Duration.seconds(20)

    /// Runs a worker. A killed drain holds the queue until its lease ends; waits for that if its process is gone.
    static func run(_ worker: PrefetchWorker, until stop: ShutdownRequest) async throws -> PrefetchWorker.Summary {
        let end = ContinuousClock.now + patience
        while true {
            let summary = try await worker.run(until: stop)
            guard let other = summary.other, isGone(other), stop.urgency == .none, .now < end else { return summary }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// `another drain of queue default runs on this machine since 3m 20s (process 4711), this one leaves the work to
    /// it`
    static func text(_ other: OtherDrain, queue: String) -> String {
        let process = other.processID.map { " (process \($0))" } ?? ""
        return "another drain of queue \(queue) runs on this machine since "
            + "\(ProgressLine.time(Int(other.age.components.seconds)))\(process), this one leaves the work to it"
    }

    private static func isGone(_ other: OtherDrain) -> Bool {
        guard let process = other.processID.flatMap(pid_t.init(exactly:)), process > 0 else { return false }
        return kill(process, 0) != 0 && errno == ESRCH
    }
}

/// Work of a drained queue that an operator has paused or must resume, or that is due later.
struct HeldWork {
    private let queue: String
    private let isPaused: Bool
    private let left: Remaining

    private var hasSuspended: Bool { left.hasSuspended }

    var isEmpty: Bool { !isPaused && !hasSuspended }

    /// A login that may not read the view `queue` does not find a paused queue.
    init(of name: String, in queue: PostgresJobQueue) async throws(QueueError) {
        self.queue = name
        left = try await queue.reports.remaining(queue: name, counted: true)
        do throws(QueueError) {
            isPaused = try await queue.reports.isHeld(queue: name)
        } catch {
            guard error.isDenied else { throw error }
            isPaused = false
        }
    }

    /// One line per kind of work, with the command that resumes it.
    var lines: [String] {
        (isPaused
            ? ["queue \(queue) is paused and has jobs left; 'larder resume --queue \(queue)' resumes them"] : [])
            + (hasSuspended
                ? [
                    "queue \(queue) has suspended jobs; 'larder resume BATCH' resumes the jobs of a paused batch, "
                        + "'larder retry --job N' a job whose workers crashed"
                ] : [])
    }

    /// `queue default: 2 jobs are due later, the first at 2026-11-25T14:30:00Z`; nil for none.
    func later(now: Date = .now) -> String? {
        guard let due = left.nextDue, let jobs = left.scheduled, jobs > 0 else { return nil }
        let first = now.addingTimeInterval(Double(due.components.seconds)).ISO8601Format()
        if jobs == 1 { return "queue \(queue): 1 job is due later, at \(first)" }
        return "queue \(queue): \(jobs)\(jobs < 10_000 ? "" : " or more") jobs are due later, the first at \(first)"
    }
}
