import Executors

/// A clock that stands until the test moves it.
final class ManualClock: Sendable {
    private let time = Locked(ContinuousClock.now)

    var now: ContinuousClock.Instant { time.withLock { $0 } }

    func advance(_ duration: Duration) { time.withLock { $0 += duration } }
}
