import FoundationEssentials
import JobQueue

/// The work of a drained queue that an operator has paused or must resume, or that is due later.
struct HeldWork {
    private let queue: String
    private let isPaused: Bool
    private let left: Remaining

    private var hasSuspended: Bool { left.hasSuspended }

    var isEmpty: Bool { !isPaused && !hasSuspended }

    /// A paused queue is not found by a login that may not read the view `queue`.
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

    /// A line per kind of work with the command that resumes it.
    var lines: [String] {
        (isPaused
            ? ["queue \(queue) is paused and has jobs left; 'larder resume --queue \(queue)' resumes them"] : [])
            + (hasSuspended
                ? [
                    "queue \(queue) has suspended jobs; 'larder resume BATCH' resumes the jobs of a paused batch, "
                        + "'larder retry --job N' a job whose workers crashed"
                ] : [])
    }

    /// `queue default: 2 jobs are due later, the first at 2026-11-25T14:30:00Z`; nil when none is.
    func later(now: Date = .now) -> String? {
        guard let due = left.nextDue, let jobs = left.scheduled, jobs > 0 else { return nil }
        let first = now.addingTimeInterval(Double(due.components.seconds)).ISO8601Format()
        if jobs == 1 { return "queue \(queue): 1 job is due later, at \(first)" }
        return "queue \(queue): \(jobs)\(jobs < 10_000 ? "" : " or more") jobs are due later, the first at \(first)"
    }
}
