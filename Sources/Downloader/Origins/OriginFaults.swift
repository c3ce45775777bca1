package import ImageModel

/// Which failures count against an origin and in the end open its breaker.
///
/// The most specific row of the queue's `retry_rule` decides: status first, then code. Without a row for its status, or
/// for its code where there is no status, refused connections, timeouts and statuses 500…599 count. Only a status from
/// 400 on or a failed connection can count: names, redirects and bodies concern the URL, not the origin.
package struct OriginFaults: Sendable, Equatable {
    private struct Fault: Hashable {
        let domain: String
        var code: Int?
        var status: Int?
    }

    private var rows: [Fault: Bool] = [:]

    /// The rules without a queue.
    package init() {}

    package init(_ rules: [OriginFaultRule]) {
        for rule in rules { rows[Fault(domain: rule.domain, code: rule.code, status: rule.httpStatus)] = rule.counts }
    }

    func counts(_ outcome: RequestOutcome) -> Bool {
        switch outcome {
        case .answered(let status, _, _):
            guard status >= 400 else { return false }
            return decide(FetchError(.badStatus, ""), status, standard: (500..<600).contains(status))
        case .failed(let code):
            return decide(FetchError(code, ""), nil, standard: code == .cannotConnect || code == .timedOut)
        case .unknown: return false
        }
    }

    private func decide(_ error: FetchError, _ status: Int?, standard: Bool) -> Bool {
        let code = error.domainCode
        if let own = rows[Fault(domain: error.domain, code: code, status: status)] { return own }
        if let status, let own = rows[Fault(domain: error.domain, status: status)] { return own }
        if standard { return true }
        return rows[Fault(domain: error.domain, code: code)] ?? rows[Fault(domain: error.domain)] ?? false
    }
}

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
