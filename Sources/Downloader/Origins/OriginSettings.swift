/// How much consideration origins get; every number is a setting of the command line.
public struct OriginSettings: Sendable, Equatable {
    /// Failures in a row that open the breaker: connections refused, timeouts and 5xx, where the
    /// queue's rules do not say otherwise, `10`.
    public var failures = 10
    /// How long an open breaker keeps everybody away before it lets one probe through, `60 s`.
    public var open: Duration = .seconds(60)
    /// Probes that may fail in a row before the origin is given up: from then on its downloads fail at once, with the
    /// error that opened the breaker, until a probe succeeds. `3`
    public var probes = 3
    /// The longest `Retry-After` that is honoured, `1 h`.
    public var longestHold: Duration = .seconds(3600)
    /// Requests per second and origin, `nil` for no limit of its own.
    public var rate: Double?
    /// Downloads at once where an origin has asked to slow down, at most; before that the transfer queue's limit alone
    /// holds, `4`.
    public var concurrency = 4
    /// How long a download waits for an origin that is held before it is refused, `0`: a queue's jobs come back later,
    /// while without a queue waiting is better.
    public var patience: Duration = .zero
    /// The defaults for a program without a queue, which waits for an origin up to 60 s.
    public static var patient: OriginSettings {
        var settings = OriginSettings()
        settings.patience = .seconds(60)
        return settings
    }

    /// Origins remembered, `4096`; the ones with nothing to remember go first.
    public var remembered = 4096

    /// The defaults.
    public init() {}
}
