/// Waits before the retries of a download without a queue. `FailureClassification` says which failures are retried.
public struct RetryPolicy: Sendable, Equatable {
    /// Attempts after the first, 3 by default.
    public var retries = 3
    /// The base of the back-off, 1 s by default: wait n, from 0, is a random part of base × 4ⁿ.
    public var base = Duration.seconds(1)
    /// The longest wait, 15 min by default; Retry-After is honoured up to 1 h.
    public var cap = Duration.seconds(900)

    /// The defaults.
    public init() {}

    /// The wait before a retry; nil if none is left.
    ///
    /// - Parameters:
    ///   - retry: the number of earlier retries.
    ///   - retryAfter: the server's Retry-After, a lower bound.
    ///   - random: uniform in 0..<1, for full jitter.
    public func wait(before retry: Int, retryAfter: Duration? = nil, random: Double) -> Duration? {
        guard retry < retries else { return nil }
        var ceiling = base
        for _ in 0..<min(retry, 16) where ceiling < cap { ceiling = ceiling * 4 }
        let drawn = min(ceiling, cap) * random
        return max(drawn, min(retryAfter ?? .zero, .seconds(3600)))
    }
}
