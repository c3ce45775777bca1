/// The meaning of a failure: whether it is retried, blocks its URL, and counts against its origin.
///
/// `all` equals the initial rows of the database's table `larder_data.retry_rule`, as a test verifies. A queue's jobs
/// follow the database, where operators may change rows; this copy is for use without one. Source: SDWebImage 5.21.5,
/// `SDWebImageDownloader.shouldBlockFailedURLWithURL:error:`, where it has a rule.
package struct FailureClassification: Sendable, Hashable {
    package let domain: String
    /// Nil matches every code of the domain without its own row.
    package let code: Int?
    /// The HTTP status; nil matches every status without its own row.
    package let httpStatus: Int?
    /// Whether it is retried while attempts are left.
    package let isRetried: Bool
    /// Whether the final failure blocks the URL.
    package let blocks: Bool
    /// Duration of the first block, 24 hours or 30 days; each further one lasts twice as long, up to 30 days.
    package let blockDuration: Duration
    /// Whether the failure counts towards the origin's breaker.
    package let countsForOrigin: Bool
    /// The final code of a job's second such failure; nil keeps the code.
    package let secondCode: Int?

    /// The row for a failure's status, else its code, else its domain. A failure of an unknown domain is final and has
    /// no consequences.
    package static func of(domain: String, code: Int, httpStatus: Int? = nil) -> FailureClassification {
        let rows = all.filter {
            $0.domain == domain && ($0.code ?? code) == code && ($0.httpStatus == nil || $0.httpStatus == httpStatus)
        }
        return rows.first { $0.httpStatus != nil } ?? rows.first { $0.code != nil } ?? rows.first
            ?? FailureClassification(otherCodesOf: domain)
    }

    /// Ignores the HTTP status, which only affects retries and origins.
    package static func of(_ failure: FailureReason) -> FailureClassification {
        of(domain: failure.domain, code: failure.code)
    }

    private init(
        _ code: FailureCode, status: Int? = nil, retried: Bool = false, blocks: Bool = false, days: Int = 1,
        origin: Bool = false, then second: FailureCode? = nil
    ) {
        domain = code.domain
        self.code = code.code
        httpStatus = status
        isRetried = retried
        self.blocks = blocks
        blockDuration = .seconds(days * 86_400)
        countsForOrigin = origin
        secondCode = second?.code
    }

    /// The row for all codes of `domain` without their own row.
    private init(otherCodesOf domain: String, blocks: Bool = false) {
        self.domain = domain
        code = nil
        httpStatus = nil
        isRetried = false
        self.blocks = blocks
        blockDuration = .seconds(86_400)
        countsForOrigin = false
        secondCode = nil
    }

    package static let all: [FailureClassification] = webImage + transport + larder

    private static let webImage = [
        FailureClassification(otherCodesOf: FailureCode.Domain.webImage),
        FailureClassification(.badImageData, blocks: true),
        FailureClassification(.badStatus),
        FailureClassification(.badStatus, status: 408, retried: true),
        FailureClassification(.badStatus, status: 425, retried: true),
        FailureClassification(.badStatus, status: 429, retried: true),
        FailureClassification(.badStatus, status: 500, retried: true, origin: true),
        FailureClassification(.badStatus, status: 502, retried: true, origin: true),
        FailureClassification(.badStatus, status: 503, retried: true, origin: true),
        FailureClassification(.badStatus, status: 504, retried: true, origin: true),
    ]

    private static let transport = [
        FailureClassification(otherCodesOf: FailureCode.Domain.transport, blocks: true),
        FailureClassification(.transportCancelled),
        FailureClassification(.timedOut, retried: true, origin: true),
        FailureClassification(.nameNotFound, retried: true),
        FailureClassification(.cannotConnect, retried: true, origin: true),
        FailureClassification(.connectionLost, retried: true),
        FailureClassification(.notConnected),
        FailureClassification(.roamingOff),
        FailureClassification(.dataNotAllowed),
        FailureClassification(.handshakeFailed, retried: true, blocks: true),
    ]

    private static let larder = [
        FailureClassification(otherCodesOf: FailureCode.Domain.larder),
        FailureClassification(.originHeld, retried: true),
        FailureClassification(.memoryExceeded, blocks: true, days: 30),
        FailureClassification(.timeExceeded, blocks: true, days: 30),
        FailureClassification(.transcoderDied, retried: true, then: .poison),
        FailureClassification(.poison, blocks: true, days: 30),
        FailureClassification(.storeFailed, retried: true),
        // A queue's worker returns such a job instead, without a result.
        FailureClassification(.localFault, retried: true),
    ]
}

/// An error as Larder and SDWebImage name it: domain, code and message.
public struct FailureReason: Error, Equatable, Codable {
    /// One of `FailureCode.Domain`.
    public let domain: String
    /// The code within the domain.
    public let code: Int
    /// For people; the queue keeps at most 2,000 characters.
    public let message: String
    /// Whether a second such failure may mark the job's image as poison (302); true by default. Not part of the JSON
    /// form.
    public var countsTowardPoison = true
    /// With error 501: the unusable credential profile, bucket or coder (`coders.NAME`), if only jobs that need it are
    /// affected. Escaped, at most 64 characters. Not part of the JSON form.
    public var profile: String?

    /// The worker settings, with values, that would allow the image; empty for other failures. Not part of the JSON
    /// form.
    package var needs: [RequiredSetting] = []

    private enum CodingKeys: String, CodingKey { case domain, code, message }

    /// Domain and code.
    public var failureCode: FailureCode { FailureCode(domain: domain, code: code) }

    /// Whether it is the worker's own fault, which says nothing about the URL or its origin.
    public var isLocalFault: Bool { failureCode == .localFault }

    /// Whether the worker refuses the image's format, which another worker may accept: the URL is not blocked.
    public var isRefusedFormat: Bool {
        failureCode == .badImageData && needs.contains { if case .format = $0 { true } else { false } }
    }

    /// Creates a reason from its parts.
    public init(domain: String, code: Int, message: String) {
        self.domain = domain
        self.code = code
        self.message = message
    }

    /// Creates a reason of a known code.
    public init(_ code: FailureCode, _ message: String) {
        self.init(domain: code.domain, code: code.code, message: message)
    }
}

/// Whether an error counts against the origin: a row of `retry_rule`.
package struct OriginFaultRule: Sendable, Equatable {
    /// Such as `NSURLErrorDomain`.
    package let domain: String
    /// Nil for the rest of the domain.
    package let code: Int?
    /// The response's status; nil for any.
    package let httpStatus: Int?
    package let counts: Bool

    package init(domain: String, code: Int?, httpStatus: Int?, counts: Bool) {
        self.domain = domain
        self.code = code
        self.httpStatus = httpStatus
        self.counts = counts
    }
}
