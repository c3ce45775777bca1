internal import Concurrency

/// The time at which calls end, including calls under way. Applies to all calls of a queue, so that an ending program
/// need not wait, or to one call.
final class CallDeadline: Sendable {
    /// How often a call that waits for the server checks it.
    static let interval = Duration.milliseconds(200)

    private let end = Locked<ContinuousClock.Instant?>(nil)
    /// The deadline of all calls.
    private let outer: CallDeadline?

    init(within outer: CallDeadline? = nil) { self.outer = outer }

    func set(_ time: ContinuousClock.Instant?) { end.withLock { $0 = time } }

    /// Whether the own limit is reached, without `outer`.
    var isOwnReached: Bool { end.withLock { $0.map { $0 <= .now } ?? false } }

    var isReached: Bool { isOwnReached || outer?.isReached ?? false }

    /// The earliest of `deadline`, the own limit and `outer`.
    func deadline(_ deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let first = outer?.deadline(deadline) ?? deadline
        return end.withLock { $0.map { min($0, first) } ?? first }
    }
}

/// How a call reacts to the cancellation of its task.
enum CallCancellation: Sendable {
    /// It continues: heartbeats, claims, completions and other calls by which a worker keeps or returns its jobs.
    case never
    /// It ends if it has not been sent. Otherwise its answer is awaited, as it may change something: enqueues,
    /// commands, maintenance.
    case untilSent
    /// It ends at once, as it changes nothing. The server is asked to stop the statement and the session is closed.
    case anyTime

    static let error = QueueError(.cancelled, "cancelled before the database answered")
}
