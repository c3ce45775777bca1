/// When the timeouts that libcurl does not check must be checked next.
///
/// A check notes the new time of a timeout that has moved, so each timeout causes at most one check.
struct TimeoutSchedule {
    private static let maximumSleep = Duration.seconds(60)

    private var next: ContinuousClock.Instant?

    /// A check is needed at this time.
    mutating func note(_ time: ContinuousClock.Instant?) {
        guard let time else { return }
        next = next.map { min($0, time) } ?? time
    }

    /// Whether a check is due. If so, all times are removed and must be noted again.
    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard let next, next <= now else { return false }
        self.next = nil
        return true
    }

    /// Time to the next check in milliseconds, rounded up, at most 60,000.
    func sleep(from now: ContinuousClock.Instant) -> Int32 {
        let rest = min(max(.zero, (next ?? now + Self.maximumSleep) - now), Self.maximumSleep)
        let (seconds, attoseconds) = rest.components
        return Int32(seconds) * 1000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
