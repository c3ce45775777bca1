/// Breaker, holds and request rate, the same for every origin.
public struct OriginSettings: Sendable, Equatable {
    /// Counted failures in a row that open the breaker, `10`: refused connections, timeouts and 5xx by default.
    public var failures = 10
    /// How long an open breaker refuses requests before it admits one probe, `60 s`.
    public var open: Duration = .seconds(60)
    /// Probes that fail in a row before the origin is given up: downloads then fail at once, with the error that opened
    /// the breaker, until a probe succeeds, and other workers are not told. Nil, the default: it is never given up, and
    /// downloads wait or fail as held.
    public var probes: Int?
    /// The longest `Retry-After` that is honoured, `1 h`.
    public var longestHold: Duration = .seconds(3600)
    /// Whether fewer requests are sent at once after 429, 503 and while requests queue at the origin, `true`.
    public var adaptsConcurrency = true
    /// Requests per second and origin; nil, the default, sets no limit.
    public var rate: Double?
    /// How long a download waits for a held origin before it fails with `LarderErrorDomain 106`, `60 s`.
    ///
    /// Zero suits a queue, which runs the job again later.
    public var maxWait: Duration = .seconds(60)
    /// Origins remembered, `4096`; those without a restriction are removed first.
    public var remembered = 4096

    /// The defaults.
    public init() {}

    /// Whether an origin is given up after so many failed probes in a row.
    package func givesUp(after failedProbes: Int) -> Bool { probes.map { failedProbes >= $0 } ?? false }
}

/// Limits of one host in place of every origin's; what is nil is not replaced.
public struct OriginOverride: Sendable, Hashable {
    /// Requests per second.
    public var rate: Double?
    /// Transfers, and so connections, at once, from 1 on.
    public var connections: Int?
    /// Transfers at once over HTTP/2, from 1 on.
    public var streams: Int?

    /// Replaces nothing.
    public init() {}
}
