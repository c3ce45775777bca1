/// How many requests an origin receives at once: additive increase, multiplicative decrease (AIMD). A pure value.
///
/// There is no limit until the origin requests a lower rate, by 429, 503 or slow responses. The limit is then halved, or
/// cut to three quarters for slow responses, and grows by one for each round of good responses until it reaches the maximum.
struct AdaptiveConcurrency: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// An origin is slow when its responses take three times as long as its best ones, plus this.
    static let slowness = Duration.milliseconds(250)

    private let maximum: Double
    /// Requests at once; nil while there is no limit.
    private(set) var limit: Double?
    private var cutAt: Instant?
    private var best: Duration?
    private var smooth: Duration?

    init(maximum: Int) { self.maximum = Double(max(1, maximum)) }

    /// A request that began at `started` has ended; `isGood` when it did not count as a failure.
    mutating func end(_ outcome: RequestOutcome, isGood: Bool, started: Instant, at now: Instant) {
        guard case .answered(_, _, let firstByte) = outcome else { return }
        if outcome.isOverload { return cut(to: 0.5, started, at: now) }
        if let firstByte, isSlow(after: firstByte) {
            smooth = best
            return cut(to: 0.75, started, at: now)
        }
        if let limit, isGood {
            let next = limit + 1 / limit
            self.limit = next >= maximum ? nil : next
        }
    }

    /// Requests that began before the last cut do not cut again.
    private mutating func cut(to share: Double, _ started: Instant, at now: Instant) {
        if let cutAt, started < cutAt { return }
        limit = max(1, (limit ?? maximum) * share)
        cutAt = now
    }

    /// Adds a sample; the best time rises slowly because origins change.
    private mutating func isSlow(after sample: Duration) -> Bool {
        guard let best, let smooth else {
            best = sample
            smooth = sample
            return false
        }
        let newBest = sample < best ? sample : best + (sample - best) / 200
        let newSmooth = smooth + (sample - smooth) / 5
        self.best = newBest
        self.smooth = newSmooth
        return newSmooth > newBest * 3 + Self.slowness
    }
}
