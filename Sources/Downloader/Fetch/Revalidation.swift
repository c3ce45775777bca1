/// What is known of a copy one has, so that an origin can say that it is still good (SDWebImage 5.21.5,
/// SDWebImageRefreshCached).
package struct Revalidation: Sendable, Hashable {
    /// The `ETag` of the copy, quotes included, as `FetchedBody.etag` gave it.
    package var etag: String?
    /// Its `Last-Modified`, as `FetchedBody.lastModified` gave it.
    package var lastModified: String?

    /// Validators of a copy; without any the request is an ordinary one.
    package init(etag: String? = nil, lastModified: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
    }

    /// The headers that make a request conditional. Both are sent where both are known: RFC 9110 lets the ETag win.
    var headers: [HeaderField] {
        [etag.map { HeaderField("If-None-Match", $0) }, lastModified.map { HeaderField("If-Modified-Since", $0) }]
            .compactMap { $0 }.filter(\.isSendable)
    }
}
