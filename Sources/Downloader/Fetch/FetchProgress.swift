/// How far a download is.
package struct FetchProgress: Sendable, Hashable {
    /// Bytes of the body so far.
    package let received: Int64
    /// Bytes of the whole body, nil while unknown and when the origin does not say.
    package let expected: Int64?
    /// Whether an answer has begun; false only for the first word, which comes before the request is sent.
    package let isAnswered: Bool

    package init(received: Int64, expected: Int64?, isAnswered: Bool = true) {
        self.received = received
        self.expected = expected
        self.isAnswered = isAnswered
    }

    /// The number SDWebImage gives for `expected`: -1 before an answer, 0 for a length nobody tells.
    package var webImageExpected: Int64 { isAnswered ? expected ?? 0 : -1 }
}

/// Which steps of a download are worth telling: the start, the answer, then as often as wanted, and the end.
struct ProgressThrottle {
    private let fraction: Double
    private let interval: Duration
    private var told: Int64 = 0
    private var toldAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - fraction: the least gain between two words, as a part of a known length, 0…1 (SDWebImage 5.21.5,
    ///     minimumProgressInterval).
    ///   - interval: the least time between two words.
    init(fraction: Double = 0, interval: Duration) {
        self.fraction = min(max(fraction, 0), 1)
        self.interval = interval
    }

    /// Before the request is sent.
    let start = FetchProgress(received: 0, expected: nil, isAnswered: false)

    /// The head of an answer whose body is wanted; `received` is more than 0 only when a broken download goes on.
    mutating func answer(expected: Int64?, at now: ContinuousClock.Instant) -> FetchProgress {
        told = 0
        toldAt = now
        return FetchProgress(received: 0, expected: expected)
    }

    /// A piece of the body has come, `received` bytes in all; nil when there is nothing to say yet.
    mutating func piece(received: Int64, expected: Int64?, at now: ContinuousClock.Instant) -> FetchProgress? {
        let isLast = received == expected
        if !isLast {
            if let toldAt, interval > .zero, now - toldAt < interval { return nil }
            if let expected, expected > 0, Double(received - told) / Double(expected) < fraction { return nil }
        }
        told = received
        toldAt = now
        return FetchProgress(received: received, expected: expected)
    }

    /// The body is complete: the last word, unless it was said already. A body of unknown length ends here.
    func end(received: Int64, expected: Int64?) -> FetchProgress? {
        told == received ? nil : FetchProgress(received: received, expected: expected)
    }
}
