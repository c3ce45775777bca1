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
