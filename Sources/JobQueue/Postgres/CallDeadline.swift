internal import Concurrency

/// The time at which calls end, those under way included: all calls of a queue, so that they do not keep a program that
/// is to end, or one call.
final class CallDeadline: Sendable {
    /// How often a call that waits for the server reads it.
    static let interval = Duration.milliseconds(200)

    private let end = Locked<ContinuousClock.Instant?>(nil)
    /// The deadline of all calls.
    private let outer: CallDeadline?

    init(within outer: CallDeadline? = nil) { self.outer = outer }

    /// Sets the time; nil, the initial value, is no limit.
    func set(_ time: ContinuousClock.Instant?) { end.withLock { $0 = time } }

    /// Whether its own time is reached.
    var isOwnReached: Bool { end.withLock { $0.map { $0 <= .now } ?? false } }

    /// Whether the time is reached.
    var isReached: Bool { isOwnReached || outer?.isReached ?? false }

    /// The earliest of `deadline` and the times.
    func deadline(_ deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let first = outer?.deadline(deadline) ?? deadline
        return end.withLock { $0.map { min($0, first) } ?? first }
    }
}

/// How a call ends when the task that makes it is cancelled.
enum CallCancellation: Sendable {
    /// It goes on: a heartbeat, a claim, a completion and the other calls by which a worker keeps or returns its jobs.
    case never
    /// It ends unless it is sent. The answer of a statement that may change something is awaited: an enqueue, a command,
    /// maintenance.
    case untilSent
    /// It ends in any case, because it changes nothing. The server is asked to stop the statement, and the session is
    /// closed.
    case anyTime

    static let error = QueueError(.cancelled, "cancelled before the database answered")
}
