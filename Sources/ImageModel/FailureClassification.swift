/// What a failure means: whether it is retried, blocks its URL, and counts against its origin.
///
/// `all` holds the rows that the database's table `larder_data.retry_rule` starts with, and a test compares the two. A
/// queue's jobs follow the database, where an operator may change a row; this copy is for use without a database.
/// Source: SDWebImage 5.21.5, `SDWebImageDownloader.shouldBlockFailedURLWithURL:error:`, where it has a rule.
public struct FailureClassification: Sendable, Hashable {
    /// The error domain.
    public let domain: String
    /// The code; nil is every code of the domain without a row of its own.
    public let code: Int?
    /// The HTTP status; nil is every status without a row of its own.
    public let httpStatus: Int?
    /// Whether another attempt follows while attempts are left.
    public let isRetried: Bool
    /// Whether the final failure puts the URL on the blocklist.
    public let blocks: Bool
    /// How long the first block lasts, 24 hours or 30 days; each further one lasts twice as long, 30 days at most.
    public let blockDuration: Duration
    /// Whether the failure counts towards the origin's breaker.
    public let countsForOrigin: Bool
    /// The code that a second such failure of one job gets, which is final; nil when it keeps its own.
    public let secondCode: Int?

    /// The classification of a failure: the row for its status, else for its code, else for its domain. A failure of an
    /// unknown domain is final and has no consequences.
    public static func of(domain: String, code: Int, httpStatus: Int? = nil) -> FailureClassification {
        let rows = all.filter {
            $0.domain == domain && ($0.code ?? code) == code && ($0.httpStatus == nil || $0.httpStatus == httpStatus)
        }
        return rows.first { $0.httpStatus != nil } ?? rows.first { $0.code != nil } ?? rows.first
            ?? FailureClassification(domain, nil)
    }

    /// The classification of a failure without its HTTP status, which decides about retries and origins only.
    public static func of(_ failure: FailureReason) -> FailureClassification {
        of(domain: failure.domain, code: failure.code)
    }

    private init(
        _ domain: String, _ code: Int?, status: Int? = nil, retried: Bool = false, blocks: Bool = false, days: Int = 1,
        origin: Bool = false, then secondCode: Int? = nil
    ) {
        self.domain = domain
        self.code = code
        httpStatus = status
        isRetried = retried
        self.blocks = blocks
        blockDuration = .seconds(days * 86_400)
        countsForOrigin = origin
        self.secondCode = secondCode
    }

    /// Every row.
    public static let all: [FailureClassification] = sdWebImage + transport + larder

    private static let sdWebImage: [FailureClassification] = {
        let domain = "SDWebImageErrorDomain"
        return [
            FailureClassification(domain, nil),
            FailureClassification(domain, 1000),
            FailureClassification(domain, 1001, blocks: true),
            FailureClassification(domain, 1003),
            FailureClassification(domain, 2001),
            FailureClassification(domain, 2001, status: 408, retried: true),
            FailureClassification(domain, 2001, status: 425, retried: true),
            FailureClassification(domain, 2001, status: 429, retried: true),
            FailureClassification(domain, 2001, status: 500, retried: true, origin: true),
            FailureClassification(domain, 2001, status: 502, retried: true, origin: true),
            FailureClassification(domain, 2001, status: 503, retried: true, origin: true),
            FailureClassification(domain, 2001, status: 504, retried: true, origin: true),
            FailureClassification(domain, 2002),
        ]
    }()

    private static let transport: [FailureClassification] = {
        let domain = "NSURLErrorDomain"
        return [
            FailureClassification(domain, nil, blocks: true),
            FailureClassification(domain, -999),
            FailureClassification(domain, -1001, retried: true, origin: true),
            FailureClassification(domain, -1002, blocks: true),
            FailureClassification(domain, -1003, retried: true),
            FailureClassification(domain, -1004, retried: true, origin: true),
            FailureClassification(domain, -1005, retried: true),
            FailureClassification(domain, -1007, blocks: true),
            FailureClassification(domain, -1009),
            FailureClassification(domain, -1018),
            FailureClassification(domain, -1020),
            FailureClassification(domain, -1200, retried: true, blocks: true),
            FailureClassification(domain, -1202, blocks: true),
        ]
    }()

    private static let larder: [FailureClassification] = {
        let domain = "LarderErrorDomain"
        let final = [nil, 101, 102, 103, 104, 105, 401, 402].map { FailureClassification(domain, $0) }
        let limits = [201, 202, 203, 204, 205, 206, 302].map {
            FailureClassification(domain, $0, blocks: true, days: 30)
        }
        return final + limits + [
            FailureClassification(domain, 106, retried: true),
            FailureClassification(domain, 301, retried: true, then: 302),
            FailureClassification(domain, 403, retried: true),
            // A worker of the queue returns such a job instead, without a result.
            FailureClassification(domain, FailureReason.localFault, retried: true),
        ]
    }()
}
