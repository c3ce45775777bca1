import Concurrency

/// A clock that stands until the test moves it.
package final class ManualClock: Sendable {
    private let time = Locked(ContinuousClock.now)

    package init() {}

    package var now: ContinuousClock.Instant { time.withLock { $0 } }

    package func advance(_ duration: Duration) { time.withLock { $0 += duration } }
}
