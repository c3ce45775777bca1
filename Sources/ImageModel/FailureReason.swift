/// A domain, a code and a text: how Larder and SDWebImage name an error.
public struct FailureReason: Error, Equatable, Codable {
    /// `SDWebImageErrorDomain`, `NSURLErrorDomain` or `LarderErrorDomain`.
    public let domain: String
    /// The code within the domain.
    public let code: Int
    /// For people; at most 2,000 characters are kept.
    public let message: String

    /// Names an error.
    public init(domain: String, code: Int, message: String) {
        self.domain = domain
        self.code = code
        self.message = message
    }
}
