/// How Larder and SDWebImage name an error: a domain, a code and a message.
public struct FailureReason: Error, Equatable, Codable {
    /// `SDWebImageErrorDomain`, `NSURLErrorDomain` or `LarderErrorDomain`.
    public let domain: String
    /// The code within the domain.
    public let code: Int
    /// For people; the queue keeps at most 2,000 characters.
    public let message: String

    /// The code in `LarderErrorDomain` of a worker's own fault: it lacks what every job needs.
    public static let localFault = 501

    /// Whether it is a worker's own fault, which says nothing about the URL or its origin.
    public var isLocalFault: Bool { domain == "LarderErrorDomain" && code == Self.localFault }

    /// Creates a reason from its parts.
    public init(domain: String, code: Int, message: String) {
        self.domain = domain
        self.code = code
        self.message = message
    }
}
