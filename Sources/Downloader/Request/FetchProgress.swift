/// The progress of a download.
public struct FetchProgress: Sendable, Hashable {
    /// Bytes of the body received.
    public let received: Int64
    /// Bytes of the whole body; nil while unknown.
    public let expected: Int64?
    /// Whether a response has begun; false only in the first call, before the request is sent.
    public let hasResponse: Bool

    /// Creates a progress report.
    public init(received: Int64, expected: Int64?, hasResponse: Bool = true) {
        self.received = received
        self.expected = expected
        self.hasResponse = hasResponse
    }

    /// SDWebImage's value for `expected`: -1 before a response, 0 for an unknown length.
    package var webImageExpected: Int64 { hasResponse ? expected ?? 0 : -1 }
}

struct ProgressThrottle {
    private let fraction: Double
    private let interval: Duration
    private var reported: Int64 = 0
    private var reportedAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - fraction: minimum gain between two reports, as a part of a known length, clamped to 0…1.
    ///   - interval: minimum time between two reports.
    init(fraction: Double = 0, interval: Duration) {
        self.fraction = min(max(fraction, 0), 1)
        self.interval = interval
    }

    /// Before the request is sent.
    let start = FetchProgress(received: 0, expected: nil, hasResponse: false)

    /// The head of an accepted response has arrived.
    mutating func head(expected: Int64?, at now: ContinuousClock.Instant) -> FetchProgress {
        reported = 0
        reportedAt = now
        return FetchProgress(received: 0, expected: expected)
    }

    /// `received` bytes have arrived in total; nil if no report is due.
    mutating func piece(received: Int64, expected: Int64?, at now: ContinuousClock.Instant) -> FetchProgress? {
        if received != expected {
            if let reportedAt, interval > .zero, now - reportedAt < interval { return nil }
            if let expected, expected > 0, Double(received - reported) / Double(expected) < fraction { return nil }
        }
        reported = received
        reportedAt = now
        return FetchProgress(received: received, expected: expected)
    }

    /// The body is complete; nil if already reported.
    func end(received: Int64, expected: Int64?) -> FetchProgress? {
        reported == received ? nil : FetchProgress(received: received, expected: expected)
    }
}
