/// The validators of a stored body, which make a request conditional (SDWebImage 5.21.5, SDWebImageRefreshCached).
public struct Validators: Sendable, Hashable, Codable {
    /// The `ETag` of the response, quotes included.
    public var etag: String?
    /// The `Last-Modified` of the response.
    public var lastModified: String?
    /// SHA-256 of the body as received, 64 hexadecimal digits.
    public var sha256: String?

    /// SHA-256 of the URL whose response contained them, 64 hexadecimal digits; nil for the requested URL.
    ///
    /// They are sent to this URL only (RFC 9110, section 8.8: a validator belongs to one resource).
    public var issuer: String?

    /// Creates validators; without `etag` and `lastModified` the request stays unconditional.
    public init(etag: String? = nil, lastModified: String? = nil, sha256: String? = nil, issuer: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
        self.sha256 = sha256
        self.issuer = issuer
    }

    /// The conditional headers. Both are sent where both are known: RFC 9110 gives the ETag precedence.
    var headers: [HeaderField] {
        [etag.map { HeaderField("If-None-Match", $0) }, lastModified.map { HeaderField("If-Modified-Since", $0) }]
            .compactMap { $0 }.filter(\.isSendable)
    }
}
