/// One request to one origin, everything about it decided: what a hop asks of libcurl.
struct HTTPRequest: Sendable {
    let url: SourceURL
    /// The approved addresses, the only ones libcurl gets to know; behind a proxy those of the proxy.
    let addresses: [IPAddress]
    /// Where the connection goes instead of to the URL's origin.
    var proxy: FetchProxy?
    let limits: FetchLimits
    /// What is left of the total limit.
    let timeLeft: Duration
    let policy: AddressPolicy
    var method = "GET"
    var body: [UInt8]?
    /// The request's headers, conditional ones included, without what a profile adds.
    var headers: [HeaderField] = []
    /// Cookies of earlier hops in libcurl's notation; nil when cookies are neither kept nor sent.
    var cookies: [String]?
    /// A profile that covers the URL's origin.
    var credentials: CredentialProfile?
    var allowsInvalidCertificates = false
    /// Whether 304 means that the copy one has is still good.
    var revalidates = false
    var rules = ResponseRules()
    var priority: FetchPriority = .normal
    var mayShare = true
    /// Whether it is the first of its download.
    var isFirst = true

    /// Whether an answer to this exchange serves the other one as well: everything that goes out or bounds what
    /// comes in must be the same. Priority and time belong to the first who asked.
    func canServe(_ other: HTTPRequest) -> Bool {
        mayShare && other.mayShare && method == "GET" && other.method == "GET" && body == nil && other.body == nil
            && url.requestText == other.url.requestText && headers == other.headers && limits == other.limits
            && policy == other.policy && cookies == other.cookies && credentials == other.credentials
            && allowsInvalidCertificates == other.allowsInvalidCertificates && revalidates == other.revalidates
            && proxy == other.proxy && rules.agrees(with: other.rules)
    }

    /// Whether nothing of it stays in the handle that served it. A handle remembers user, password, cookies and method.
    var leavesNoTrace: Bool {
        !url.hasUserinfo && credentials == nil && cookies == nil && method == "GET" && body == nil
            && !allowsInvalidCertificates
    }

    /// Whether a broken answer may be asked for again from where it stopped.
    var mayResume: Bool { method == "GET" && body == nil && headers["Range"] == nil }
}

/// The version of HTTP that is asked for over TLS; without TLS it is always the first.
enum HTTPVersion: Sendable, Equatable {
    case one, two
}

/// The answer to an exchange that did not fail.
struct Reply: Sendable {
    enum Outcome: Sendable {
        case body(bytes: Int64, sha256: [UInt8])
        /// The `Location` header as sent.
        case redirect([UInt8])
        /// 304 to a conditional request.
        case notModified
    }

    let outcome: Outcome
    let status: Int
    let headers: [HeaderField]
    /// The cookies known after it, in libcurl's notation.
    let cookies: [String]
    let resumptions: Int
    var shared = false
    var queued: Duration = .zero
    let connect: Duration
    let firstByte: Duration
    var total: Duration = .zero
    let connectionReused: Bool
    let httpMajor: Int
}

extension Duration {
    /// Whole milliseconds, at least 1 because libcurl takes 0 for no limit.
    var curlMilliseconds: Int {
        let (seconds, attoseconds) = components
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
