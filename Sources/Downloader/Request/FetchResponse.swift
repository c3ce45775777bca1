private import ImageModel

/// A response: a complete body, or confirmation that the stored copy is current.
public struct FetchResponse: Sendable {
    /// The last response's status, 304 for `isNotModified`; nil if the loader has none.
    public var status: Int?
    /// The last response's headers: printable ASCII, other bytes percent-encoded, bounded (`ResponseHead`).
    public var headers: [HeaderField]
    /// Bytes written, at least 1; 0 for `isNotModified`.
    public var bytes: Int
    /// SHA-256 of these bytes, 32 bytes; empty for `isNotModified`.
    public var sha256: [UInt8]
    /// The origin confirmed the validators; nothing was written (SDWebImage 5.21.5, SDWebImageErrorCacheNotModified).
    public var isNotModified = false
    /// Robots directives for Larder, from `X-Robots-Tag` and `robots.txt`; nil for none.
    public var robots: String?
    /// The last request's URL; nil if the loader has none.
    package var url: SourceURL?
    package var redirects = 0
    /// Times that a broken transfer was continued.
    package var resumptions = 0
    /// Whether the last transfer also served another request.
    package var isShared = false
    package var isConnectionReused = false
    /// 1 for HTTP/1.0 and 1.1, 2 for HTTP/2.
    package var httpMajor = 1
    package var timings = FetchTimings()
    /// The `Location` of a redirect to follow, as sent.
    var location: [UInt8]?
    /// Cookies after the last response, in libcurl's notation.
    var cookies: [String] = []

    /// A body written by a loader.
    public init(bytes: Int, sha256: [UInt8], status: Int? = nil, headers: [HeaderField] = []) {
        self.bytes = bytes
        self.sha256 = sha256
        self.status = status
        self.headers = headers
    }

    /// The stored copy is current.
    public static var notModified: FetchResponse {
        var response = FetchResponse(bytes: 0, sha256: [], status: 304)
        response.isNotModified = true
        return response
    }

    /// The body's validators, bound to the URL that issued them.
    package var validators: Validators {
        Validators(
            etag: etag, lastModified: lastModified, sha256: SHA256Digest.hex(sha256),
            issuer: redirects > 0 ? url?.digest : nil)
    }

    /// `ETag`, at most 512 bytes.
    public var etag: String? { header("ETag") }
    /// `Last-Modified`, at most 512 bytes.
    public var lastModified: String? { header("Last-Modified") }
    /// The lines of `X-Robots-Tag`, separated by `;`, at most 512 bytes.
    public var robotsTag: String? {
        let lines = headers.filter { $0.isNamed("X-Robots-Tag") }.map(\.value)
        return lines.isEmpty ? nil : String(lines.joined(separator: ";").prefix(512))
    }

    private func header(_ name: String) -> String? { headers[name].map { String($0.prefix(512)) } }
}

/// Durations of one download, summed over its redirects.
package struct FetchTimings: Sendable, Equatable {
    /// Waiting for a free connection.
    package var queued: Duration = .zero
    package var lookup: Duration = .zero
    /// TCP and TLS handshakes.
    package var connect: Duration = .zero
    /// From the start of a transfer to its first response byte.
    package var firstByte: Duration = .zero
    /// Transfers, including handshakes.
    package var transfer: Duration = .zero
    /// From the call to the last byte, including waits.
    package var total: Duration = .zero

    mutating func add(_ other: FetchTimings) {
        queued += other.queued
        lookup += other.lookup
        connect += other.connect
        firstByte += other.firstByte
        transfer += other.transfer
    }
}

/// One request of a download, including its name lookup.
package struct FetchHop: Sendable {
    package let url: SourceURL
    package let start: ContinuousClock.Instant
    package private(set) var end: ContinuousClock.Instant
    /// Nil if the request failed.
    package var status: Int?
    package var timings = FetchTimings()

    init(url: SourceURL, start: ContinuousClock.Instant) { (self.url, self.start, end) = (url, start, start) }

    /// The hop, ending now.
    func ended() -> FetchHop {
        var hop = self
        hop.end = .now
        return hop
    }
}

package enum FetchWait: Sendable {
    case lookup, connection
}

/// Validators of a stored body, for conditional requests (SDWebImage 5.21.5, SDWebImageRefreshCached).
public struct Validators: Sendable, Hashable, Codable {
    /// The response's `ETag`, including quotes.
    public var etag: String?
    /// The `Last-Modified` of the response.
    public var lastModified: String?
    /// SHA-256 of the received body, 64 hexadecimal digits.
    public var sha256: String?

    /// SHA-256 of the URL that returned them, 64 hexadecimal digits; nil for the requested URL.
    ///
    /// They are sent only to this URL (RFC 9110, section 8.8: a validator belongs to one resource).
    public var issuer: String?

    /// Without `etag` and `lastModified` the request is unconditional.
    public init(etag: String? = nil, lastModified: String? = nil, sha256: String? = nil, issuer: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
        self.sha256 = sha256
        self.issuer = issuer
    }

    /// The conditional headers. Sends both if known: RFC 9110 gives the ETag precedence.
    var headers: [HeaderField] {
        [etag.map { HeaderField("If-None-Match", $0) }, lastModified.map { HeaderField("If-Modified-Since", $0) }]
            .compactMap { $0 }.filter(\.isSendable)
    }
}
