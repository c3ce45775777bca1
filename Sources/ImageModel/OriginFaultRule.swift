/// Whether an error counts against the origin: a row of `retry_rule`.
package struct OriginFaultRule: Sendable, Equatable {
    /// The error's domain, `NSURLErrorDomain`.
    package let domain: String
    /// The error's code; nil for the rest of the domain.
    package let code: Int?
    /// The status of the answer; nil for any.
    package let httpStatus: Int?
    /// Whether it counts.
    package let counts: Bool

    /// Describes a rule.
    package init(domain: String, code: Int?, httpStatus: Int?, counts: Bool) {
        self.domain = domain
        self.code = code
        self.httpStatus = httpStatus
        self.counts = counts
    }
}
