/// When transfers must next be looked at for the limits that libcurl does not watch.
///
/// A time that was noted may have moved on by then: a look finds out and notes the next one. So noting is cheap, and a
/// look comes at most once per limit.
struct TimeoutSchedule {
    private static let longestSleep = Duration.seconds(60)

    private var next: ContinuousClock.Instant?

    /// There may be something to do at this time.
    mutating func note(_ time: ContinuousClock.Instant?) {
        guard let time else { return }
        next = next.map { min($0, time) } ?? time
    }

    /// Whether it is time for a look; all times are forgotten then and are to be noted again.
    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard let next, next <= now else { return false }
        self.next = nil
        return true
    }

    /// How long there is nothing to do, in whole milliseconds, rounded up: never a look too early.
    func sleep(from now: ContinuousClock.Instant) -> Int32 {
        let rest = min(max(.zero, (next ?? now + Self.longestSleep) - now), Self.longestSleep)
        let (seconds, attoseconds) = rest.components
        return Int32(seconds) * 1000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
