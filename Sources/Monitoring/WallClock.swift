import Glibc

/// Converts instants of this process to the time of day.
struct WallClock {
    private let now = ContinuousClock.now
    /// Since 1970.
    private let today: Duration

    init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        today = .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Since 1970.
    func time(of instant: ContinuousClock.Instant) -> Duration { today - (now - instant) }
}
