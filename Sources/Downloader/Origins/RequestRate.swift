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
