/// How Larder and SDWebImage name an error: a domain, a code and a message.
public struct FailureReason: Error, Equatable, Codable {
    /// `SDWebImageErrorDomain`, `NSURLErrorDomain` or `LarderErrorDomain`.
    public let domain: String
    /// The code within the domain.
    public let code: Int
    /// For people; the queue keeps at most 2,000 characters.
    public let message: String

    /// Creates a reason from its parts.
    public init(domain: String, code: Int, message: String) {
        self.domain = domain
        self.code = code
        self.message = message
    }
}
