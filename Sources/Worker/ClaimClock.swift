internal import Concurrency

/// When the claim loop of a worker last went round, for probes and watchdogs.
///
/// An idle loop goes round every few seconds; one that does not is held up in a call of the database, or has no thread.
package final class ClaimClock: Sendable {
    private let last = Locked<ContinuousClock.Instant?>(nil)

    /// A clock of a worker that has not begun.
    package init() {}

    /// The start of the last round; nil before the first one and after the end of the worker.
    package var lastRound: ContinuousClock.Instant? { last.withLock { $0 } }

    func tick() { last.withLock { $0 = .now } }

    func stop() { last.withLock { $0 = nil } }
}
