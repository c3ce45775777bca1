internal import Concurrency

/// The part of this machine that may have caused a failure. The origin is the other possible cause.
package enum LocalCause: Sendable, Equatable {
    /// Its network: no response in time, no route, a connection refused or reset, or failing name servers.
    case network
    /// Its clock or an outdated authorities file: a certificate is not valid at this time.
    case certificateDates
    /// Its authorities file or a TLS-intercepting proxy: a certificate's issuer is unknown.
    case certificateIssuer
}

/// Decides whether possible local failures are this machine's fault.
package struct LocalEvidence: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Origins with refused certificates, with none accepted, that prove a local fault. Fewer than silent origins
    /// (`Reachability.origins`), because bad certificates are rarer than dead origins.
    static let refusedOrigins = 4
    /// Clock difference from which refused dates are this machine's fault.
    static let longestClockOffset = Duration.seconds(300)

    /// How far this machine's clock is ahead of the database's.
    package var clockOffset = Duration.zero
    private let authorities: String
    private var network = Reachability()
    private var certificates = Reachability(origins: Self.refusedOrigins)

    /// - Parameter authorities: path of the certificate authorities file.
    init(authorities: String) { self.authorities = authorities }

    /// The origin has responded, with any status.
    mutating func answered(_ origin: Origin) {
        network.answered()
        if origin.scheme == .https { certificates.answered() }
    }

    /// Why this machine caused the failure of a request to `origin`, given a possible `cause`; nil if the origin may be
    /// at fault.
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

/// Detects that this machine reaches no origin, or accepts no certificate.
///
/// True if requests to several origins failed, possibly for a local reason, with no response since the first failure.
/// Ends with the next response, and after some minutes, so that a list of dead origins ends too.
struct Reachability: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// Origins that fail within `window` before all count as unreachable.
    static let origins = 8
    static let window = Duration.seconds(60)
    /// How long errors count as local for this reason.
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

    /// A request ended with a possibly local error (`FetchError.localCause`). True if it is local: no origin is
    /// reached.
    mutating func fail(_ origin: Origin, at now: Instant) -> Bool {
        failed = failed.filter { now - $0.value < Self.window }
        if failed.count < origins { failed[origin] = now }
        if failed.count == origins, lostAt == nil { lostAt = now }
        return lostAt.map { now - $0 < Self.longest } ?? false
    }
}
