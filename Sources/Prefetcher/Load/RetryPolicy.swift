/// Which failures of a download are worth another try, and how long to wait before it.
///
/// For loads without a database; a queue's jobs go by the rows of its table `retry_rule`, which start out the same.
public struct RetryPolicy: Sendable, Equatable {
    /// Tries after the first, 3 by default.
    public var retries = 3
    /// The base of the back-off, 1 s by default: the n-th wait is drawn from 0 to base × 4ⁿ, n from 0.
    public var base = Duration.seconds(1)
    /// The longest wait, 15 min by default; what a server asks for by Retry-After is honoured up to 1 h.
    public var cap = Duration.seconds(900)

    /// The defaults.
    public init() {}

    /// HTTP statuses after which another try may help.
    public static let transientStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Whether another try may help: timeouts, names, connections, TLS handshakes, a held origin, a full disk, and the
    /// statuses above.
    public static func mayHelp(domain: String, code: Int, httpStatus: Int?) -> Bool {
        switch (domain, code) {
        case ("SDWebImageErrorDomain", 2001): httpStatus.map(transientStatuses.contains) ?? false
        case ("NSURLErrorDomain", -1001), ("NSURLErrorDomain", -1003), ("NSURLErrorDomain", -1004),
            ("NSURLErrorDomain", -1005), ("NSURLErrorDomain", -1200), ("LarderErrorDomain", 106),
            ("LarderErrorDomain", 403):
            true
        default: false
        }
    }

    /// The wait before the retry number `retry`, from 0; nil when there is none left.
    ///
    /// - Parameters:
    ///   - retryAfter: what the server asked for, which the wait is never shorter than.
    ///   - random: uniform in 0..<1; full jitter spreads a crowd best.
    public func wait(before retry: Int, retryAfter: Duration? = nil, random: Double) -> Duration? {
        guard retry < retries else { return nil }
        var ceiling = base
        for _ in 0..<min(retry, 16) where ceiling < cap { ceiling = ceiling * 4 }
        let drawn = min(ceiling, cap) * random
        return max(drawn, min(retryAfter ?? .zero, .seconds(3600)))
    }
}
