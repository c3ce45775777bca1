internal import Concurrency

/// The time at which all statements and connection attempts of a queue end, those under way included, so that they do
/// not keep a program that is to end.
final class CallDeadline: Sendable {
    /// How often a call that waits for the server reads it.
    static let interval = Duration.milliseconds(200)

    private let end = Locked<ContinuousClock.Instant?>(nil)

    /// Sets the time; nil, the initial value, is no limit.
    func set(_ time: ContinuousClock.Instant?) { end.withLock { $0 = time } }

    /// Whether the time is reached.
    var isReached: Bool { end.withLock { $0.map { $0 <= .now } ?? false } }

    /// The earlier of `deadline` and this time.
    func deadline(_ deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
        end.withLock { $0.map { min($0, deadline) } ?? deadline }
    }
}
