/// Whether an origin is requested over HTTP/1.1 after failures of its HTTP/2. A pure value.
///
/// Transitions: allowed → suspected at a protocol failure; suspected → allowed at a success of a transfer that began
/// after it; suspected → avoided at a failure of such a transfer; avoided → allowed after an hour. Failures of
/// transfers that ran together count once. libcurl 7.88.1 has HTTP/2 faults of its own: a PING ends an idle connection,
/// streams are refused.
struct HTTP2Fallback: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    static let failures = 2
    static let duration = Duration.seconds(3600)

    private var count = 0
    private var failedAt: Instant?

    func isAvoided(at now: Instant) -> Bool { count >= Self.failures && !isExpired(at: now) }

    func isForgettable(at now: Instant) -> Bool { count == 0 || isExpired(at: now) }

    mutating func fail(began: Instant, at now: Instant) {
        if isExpired(at: now) { self = HTTP2Fallback() }
        if let failedAt, began < failedAt { return }
        count += 1
        failedAt = now
    }

    mutating func succeed(began: Instant) {
        if count < Self.failures, let failedAt, began >= failedAt { self = HTTP2Fallback() }
    }

    private func isExpired(at now: Instant) -> Bool { failedAt.map { now - $0 >= Self.duration } ?? true }
}
