package import ImageModel

/// Which failures count against an origin and open its breaker.
///
/// The most specific row of the queue's `retry_rule` decides: status first, then code. Without a matching row, refused
/// connections, timeouts and statuses 500…599 count. Only statuses from 400 on and failed connections can count: names,
/// redirects and bodies concern the URL.
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

/// Falls back to HTTP/1.1 for an origin whose HTTP/2 fails.
///
/// Transitions:
/// - allowed → suspected: a protocol failure
/// - suspected → allowed: success of a transfer that began later
/// - suspected → avoided: failure of a transfer that began later
/// - avoided → allowed: after an hour
///
/// Failures of concurrent transfers count once. libcurl 7.88.1 has HTTP/2 bugs: a PING ends an idle connection, streams
/// are refused.
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
