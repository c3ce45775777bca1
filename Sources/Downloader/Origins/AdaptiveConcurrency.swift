/// How many requests an origin receives at once: additive increase, multiplicative decrease (AIMD). A pure value.
///
/// There is no limit until the origin requests a lower rate, by 429 or 503, or its requests queue. The limit is then
/// halved, or cut to three quarters for a queue, and grows by one for each round of good responses until it reaches the
/// maximum.
///
/// Requests queue when even the fastest of a window of responses is slow. Single slow responses are no sign of it: a
/// cache that misses some requests answers the others as fast as before.
struct AdaptiveConcurrency: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// A response is slow when it takes three times as long as the best ones, plus this.
    static let slowness = Duration.milliseconds(250)
    /// The responses of a window.
    static let window = 10

    private let maximum: Double
    private let isEnabled: Bool
    /// Requests at once; nil while there is no limit.
    private(set) var limit: Double?
    private var cutAt: Instant?
    private var best: Duration?
    private var fastest: Duration?
    private var samples = 0

    /// - Parameter isEnabled: whether there is ever a limit.
    init(maximum: Int, isEnabled: Bool = true) {
        self.maximum = Double(max(1, maximum))
        self.isEnabled = isEnabled
    }

    /// A request that began at `started` has ended; `isGood` when it did not count as a failure.
    mutating func end(_ outcome: RequestOutcome, isGood: Bool, started: Instant, at now: Instant) {
        guard isEnabled, case .answered(_, _, let firstByte) = outcome else { return }
        if outcome.isOverload { return cut(to: 0.5, started, at: now) }
        if let firstByte, isQueued(after: firstByte) { return cut(to: 0.75, started, at: now) }
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

    /// Adds a sample; true when it ends a window in which every response was slow. The best time rises slowly because
    /// origins change.
    private mutating func isQueued(after sample: Duration) -> Bool {
        let fastest = min(fastest ?? sample, sample)
        samples += 1
        guard samples == Self.window else {
            self.fastest = fastest
            return false
        }
        self.fastest = nil
        samples = 0
        let best = best ?? fastest
        self.best = fastest < best ? fastest : best + (fastest - best) / 20
        return fastest > best * 3 + Self.slowness
    }
}

/// The rate of requests to one origin. A pure value.
struct RequestRate: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    private static let longestReturn = Duration.seconds(3600)

    private let gap: Duration?
    /// When the next request may start; nil when it may start now.
    private(set) var nextStart: Instant?
    private var nextReturn: Instant?

    /// No limit when `perSecond` is nil. At least one request an hour.
    init(perSecond: Double?) { gap = perSecond.map { .seconds(1 / max($0, 1 / 3600.0)) } }

    mutating func start(at now: Instant) {
        if let gap { nextStart = max(nextStart ?? now, now) + gap }
    }

    /// When to repeat a request that would wait longer than `limit` behind `waiting` others; nil when it may wait.
    ///
    /// Each has its own time, so that they are not repeated together.
    mutating func returnTime(behind waiting: Int, limit: Duration, at now: Instant) -> Instant? {
        guard let gap, max(nextStart ?? now, now) + gap * waiting - now > limit else { return nil }
        let back = min(max(nextReturn ?? now, now + limit), now + Self.longestReturn)
        nextReturn = back + gap
        return back
    }

    func isForgettable(at now: Instant) -> Bool {
        (nextStart.map { $0 <= now } ?? true) && (nextReturn.map { $0 <= now } ?? true)
    }
}
