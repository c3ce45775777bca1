internal import Concurrency

/// The part of this machine that may have caused a failure; the origin may have caused it as well.
package enum LocalCause: Sendable, Equatable {
    /// Its network: no response in time, no route to the host, a connection that is refused or reset, or name servers
    /// that fail.
    case network
    /// Its clock, or an outdated file of authorities: a certificate is not valid at this time.
    case certificateDates
    /// Its file of authorities, or a proxy that intercepts TLS: the issuer of a certificate is unknown.
    case certificateIssuer
}

/// Whether failures that may be this machine's are so. A pure value.
package struct LocalEvidence: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Origins whose certificates are refused, none being accepted, and mean that this machine is at fault. Fewer than
    /// silent origins (`Reachability.origins`), because an origin with a bad certificate is rarer than a dead one.
    static let refusedOrigins = 4
    /// The difference of clocks from which refused dates are this machine's fault.
    static let longestClockOffset = Duration.seconds(300)

    /// How far this machine's time of day is ahead of the database's.
    package var clockOffset = Duration.zero
    private let authorities: String
    private var network = Reachability()
    private var certificates = Reachability(origins: Self.refusedOrigins)

    /// - Parameter authorities: the path of the file of certificate authorities.
    init(authorities: String) { self.authorities = authorities }

    /// An origin has responded, with any status.
    mutating func answered(_ origin: Origin) {
        network.answered()
        if origin.scheme == .https { certificates.answered() }
    }

    /// Why a request to `origin` that failed with a possible `cause` failed by this machine's fault; nil when the
    /// origin may be at fault itself.
    mutating func reason(_ cause: LocalCause, _ origin: Origin, at now: Instant) -> String? {
        switch cause {
        case .network:
            return network.fail(origin, at: now) ? "none of the last \(Reachability.origins) origins responded" : nil
        case .certificateDates where abs(clockOffset.seconds) > Self.longestClockOffset.seconds:
            let side = clockOffset < .zero ? "behind" : "ahead of"
            return "this machine's clock is \(Int(abs(clockOffset.seconds))) s \(side) the database's"
        case .certificateDates, .certificateIssuer:
            guard certificates.fail(origin, at: now) else { return nil }
            return """
                the certificates of the last \(Self.refusedOrigins) origins were refused: check this machine's clock and \
                its file of certificate authorities \(authorities)
                """
        }
    }
}

/// Whether this machine reaches any origin at all, or accepts the certificate of any. A pure value.
///
/// It does not when requests to several origins failed, for a reason that may be this machine's, and none has responded
/// since the first of them. The finding ends with the next response, and by itself after some minutes, so
/// that a list of dead origins ends, too.
struct Reachability: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// Origins that are not reached within `window` and mean that none is; by default.
    static let origins = 8
    static let window = Duration.seconds(60)
    /// How long errors are this machine's fault for this reason.
    static let longest = Duration.seconds(300)

    private let origins: Int
    private var failed: [Origin: Instant] = [:]
    private var lostAt: Instant?

    init(origins: Int = Self.origins) { self.origins = origins }

    /// An origin has responded, with any status.
    mutating func answered() {
        failed = [:]
        lostAt = nil
    }

    /// A request to `origin` ended with an error that may be local (`FetchError.localCause`). True when it is: no
    /// origin is reached.
    mutating func fail(_ origin: Origin, at now: Instant) -> Bool {
        failed = failed.filter { now - $0.value < Self.window }
        if failed.count < origins { failed[origin] = now }
        if failed.count == origins, lostAt == nil { lostAt = now }
        return lostAt.map { now - $0 < Self.longest } ?? false
    }
}
