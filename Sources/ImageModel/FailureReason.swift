/// How Larder and SDWebImage name an error: a domain, a code and a message.
public struct FailureReason: Error, Equatable, Codable {
    /// One of `FailureCode.Domain`.
    public let domain: String
    /// The code within the domain.
    public let code: Int
    /// For people; the queue keeps at most 2,000 characters.
    public let message: String
    /// Whether a second such failure may make the job's image poison (302); true by default. Not part of the JSON form.
    public var countsTowardPoison = true
    /// With error 501: the credential profile, bucket or coder (`coders.NAME`) that the worker cannot use, which concerns
    /// only the jobs that need it; nil when every job is concerned. Escaped, at most 64 characters. Not part of the JSON
    /// form.
    public var profile: String?

    /// The worker's settings because of which the image failed, with the values that it needs; empty for every other
    /// failure. Not part of the JSON form.
    package var needs: [RequiredSetting] = []

    private enum CodingKeys: String, CodingKey { case domain, code, message }

    /// Domain and code.
    public var failureCode: FailureCode { FailureCode(domain: domain, code: code) }

    /// Whether it is a worker's own fault, which says nothing about the URL or its origin.
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
