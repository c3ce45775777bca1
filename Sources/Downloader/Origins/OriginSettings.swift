/// Breaker, pauses and request rate, the same for every origin.
public struct OriginSettings: Sendable, Equatable {
    /// Consecutive counted failures that open the breaker, `10`: by default refused connections, timeouts and 5xx.
    public var failures = 10
    /// How long an open breaker refuses requests before it allows one probe, `60 s`.
    public var open: Duration = .seconds(60)
    /// Consecutive failed probes before the origin is given up: downloads then fail at once with the error that opened
    /// the breaker, until a probe succeeds. Not reported to other workers. Nil, the default, never gives up: downloads
    /// wait or fail as paused.
    public var probes: Int?
    /// Longest `Retry-After` that is honoured, `1 h`.
    public var longestHold: Duration = .seconds(3600)
    /// Whether to reduce concurrency after 429 and 503 and while requests queue at the origin, `true`.
    public var adaptsConcurrency = true
    /// Requests per second and origin; nil, the default, is no limit.
    public var rate: Double?
    /// How long a download waits for a paused origin before it fails with `LarderErrorDomain 106`, `60 s`.
    ///
    /// Zero suits a queue, which runs the job again later.
    public var maxWait: Duration = .seconds(60)
    /// Origins remembered, `4096`; unrestricted ones are removed first.
    public var remembered = 4096

    /// The defaults.
    public init() {}

    package func givesUp(after failedProbes: Int) -> Bool { probes.map { failedProbes >= $0 } ?? false }
}

/// Limits of one host; nil keeps the general limit.
public struct OriginOverride: Sendable, Hashable {
    /// Requests per second.
    public var rate: Double?
    /// Concurrent transfers, and so connections; at least 1.
    public var connections: Int?
    /// Concurrent transfers over HTTP/2; at least 1.
    public var streams: Int?

    /// Replaces nothing.
    public init() {}
}
