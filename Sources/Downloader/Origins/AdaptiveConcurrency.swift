/// Concurrent requests to an origin: additive increase, multiplicative decrease (AIMD).
///
/// There is no limit until the origin answers 429 or 503, or its requests queue:
/// - 429 or 503 halves the limit;
/// - a queue cuts it to three quarters;
/// - each round of good responses adds one, up to the maximum.
///
/// Requests queue if even the fastest response of a window is slow. Single slow responses are normal: a cache that
/// misses some requests answers the others fast.
struct AdaptiveConcurrency: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// A response is slow if it takes three times as long as the best ones, plus this.
    static let slowness = Duration.milliseconds(250)
    static let window = 10

    private let maximum: Double
    private let isEnabled: Bool
    /// Nil while there is no limit.
    private(set) var limit: Double?
    private var cutAt: Instant?
    private var best: Duration?
    private var fastest: Duration?
    private var samples = 0

    /// - Parameter isEnabled: false never limits.
    init(maximum: Int, isEnabled: Bool = true) {
        self.maximum = Double(max(1, maximum))
        self.isEnabled = isEnabled
    }

    /// A request started at `started` has ended; `isGood` if it did not count as a failure.
    mutating func end(_ outcome: RequestOutcome, isGood: Bool, started: Instant, at now: Instant) {
        guard isEnabled, case .answered(_, _, let firstByte) = outcome else { return }
        if outcome.isOverload { return cut(to: 0.5, started, at: now) }
        if let firstByte, isQueued(after: firstByte) { return cut(to: 0.75, started, at: now) }
        if let limit, isGood {
            let next = limit + 1 / limit
            self.limit = next >= maximum ? nil : next
        }
    }

    /// Requests that started before the last cut do not cut again.
    private mutating func cut(to share: Double, _ started: Instant, at now: Instant) {
        if let cutAt, started < cutAt { return }
        limit = max(1, (limit ?? maximum) * share)
        cutAt = now
    }

    /// Adds a sample; true if it ends a window of slow responses only. The best time rises slowly, because origins
    /// change.
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

/// The request rate of one origin.
struct RequestRate: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    private static let longestReturn = Duration.seconds(3600)

    private let gap: Duration?
    /// When the next request may start; nil if now.
    private(set) var nextStart: Instant?
    private var nextReturn: Instant?

    /// Nil is no limit. At least one request per hour.
    init(perSecond: Double?) { gap = perSecond.map { .seconds(1 / max($0, 1 / 3600.0)) } }

    mutating func start(at now: Instant) {
        if let gap { nextStart = max(nextStart ?? now, now) + gap }
    }

    /// When to repeat a request that would wait longer than `limit` behind `waiting` others; nil if it may wait.
    ///
    /// Each request gets its own time, so that they are not repeated together.
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
