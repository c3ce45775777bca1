/// Whether an error counts against the origin: a row of `retry_rule`.
public struct OriginFaultRule: Sendable, Equatable {
    /// The error's domain, `NSURLErrorDomain`.
    public let domain: String
    /// The error's code; nil for the rest of the domain.
    public let code: Int?
    /// The status of the answer; nil for any.
    public let httpStatus: Int?
    /// Whether it counts.
    public let counts: Bool

    /// Describes a rule.
    public init(domain: String, code: Int?, httpStatus: Int?, counts: Bool) {
        self.domain = domain
        self.code = code
        self.httpStatus = httpStatus
        self.counts = counts
    }
}
