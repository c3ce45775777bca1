/// How many requests an origin gets at once and how quickly one after the other. A pure value.
///
/// Nothing is limited here until the origin asks for less, by 429 or 503 or by becoming slow: then half as many go at
/// once, and one more for each round that went well (additive increase, multiplicative decrease).
struct AdaptiveConcurrency: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    enum Answer: Sendable, Equatable {
        /// It may start at this time, now or soon: the place is its own.
        case go(at: Instant)
        case full
        /// Too many wait already: come back at about this time.
        case later(Instant)
    }

    /// Requests wait for their turn in line for so long; whoever would have to wait longer leaves and comes back.
    static let longestLine = Duration.seconds(5)
    /// An origin is slow when its answers take three times as long as its best ones, and so much more.
    static let slowness = Duration.milliseconds(250)
    private static let longestReturn = Duration.seconds(3600)

    private let most: Double
    private let gap: Duration?
    private(set) var inFlight = 0
    /// Requests at once, nil while nothing speaks against what the transfer queue allows.
    private(set) var limit: Double?
    private var cutAt: Instant?
    private var best: Duration?
    private var smooth: Duration?
    /// When the next request may start.
    private var nextStart: Instant?
    /// When the next of those who left may come back.
    private var nextReturn: Instant?

    init(_ settings: OriginSettings) {
        most = Double(max(1, settings.concurrency))
        gap = settings.rate.map { .seconds(1 / $0) }
    }

    /// How many more requests could start, nil when nothing limits them.
    var free: Int? { limit.map { max(0, Int($0) - inFlight) } }

    /// A request starts whatever the pace.
    mutating func start() { inFlight += 1 }

    /// A request wants to start.
    mutating func ask(at now: Instant) -> Answer {
        if let limit, inFlight >= Int(limit) { return .full }
        guard let gap else {
            inFlight += 1
            return .go(at: now)
        }
        let turn = max(nextStart ?? now, now)
        if turn - now <= Self.longestLine {
            nextStart = turn + gap
            inFlight += 1
            return .go(at: turn)
        }
        // Each at its own time, so that a crowd does not come back at once.
        let back = min(max(nextReturn ?? now, now + Self.longestLine), now + Self.longestReturn)
        nextReturn = back + gap
        return .later(back)
    }

    /// A request has ended; `isGood` when it went as it should.
    mutating func end(_ pass: OriginPermit, _ result: RequestOutcome, isGood: Bool, at now: Instant) {
        inFlight -= 1
        guard case .answered(_, _, let firstByte) = result else { return }
        if result.isOverload { return cut(to: 0.5, pass, at: now) }
        if let firstByte, isSlow(after: firstByte) {
            smooth = best
            return cut(to: 0.75, pass, at: now)
        }
        if let limit, isGood {
            let more = limit + 1 / limit
            self.limit = more >= most ? nil : more
        }
    }

    /// One cut for what was under way together: requests that began before it do not cut again.
    private mutating func cut(to share: Double, _ pass: OriginPermit, at now: Instant) {
        if let cutAt, pass.started < cutAt { return }
        limit = max(1, (limit ?? most) * share)
        cutAt = now
    }

    /// Takes a sample; the best time is forgotten slowly, as origins change.
    private mutating func isSlow(after sample: Duration) -> Bool {
        guard let known = best, let mean = smooth else {
            best = sample
            smooth = sample
            return false
        }
        best = sample < known ? sample : known + (sample - known) / 200
        let now = mean + (sample - mean) / 5
        smooth = now
        return now > (best ?? known) * 3 + Self.slowness
    }

    /// Whether nothing would be lost with this value.
    func isForgettable(at now: Instant) -> Bool {
        inFlight == 0 && limit == nil && nextStart.map({ $0 <= now }) ?? true && nextReturn.map({ $0 <= now }) ?? true
    }
}
