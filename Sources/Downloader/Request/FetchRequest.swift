private import Glibc
package import ImageModel

/// One download: what is requested and which responses are accepted. A request modifier may replace it.
public struct FetchRequest: Sendable {
    /// The URL as submitted; its bytes are its identity.
    public var url: String
    /// The method, ASCII letters only, `GET` by default. `HEAD` and `CONNECT` are refused.
    public var method = "GET"
    /// Headers that replace the downloader's own of the same name; an empty value omits that header.
    ///
    /// A redirect to another origin keeps only Accept, Accept-Language and User-Agent of them.
    public var headers: [HeaderField] = []
    /// The request body, nil by default. It is not sent to another origin.
    public var body: [UInt8]?
    /// A profile of `FetchConfiguration.credentials`, nil by default. It is sent to its own origins only.
    public var credentials: String?
    /// Validators of a stored copy: a 304 then gives a response with `isNotModified`.
    public var validators: Validators?
    /// The order among waiting downloads, `normal` by default.
    public var priority: FetchPriority = .normal
    /// Keeps the cookies of this download's redirects (SDWebImage 5.21.5, SDWebImageHandleCookies), `false` by default.
    public var handlesCookies = false
    /// Accepts any certificate (SDWebImage 5.21.5, SDWebImageAllowInvalidSSLCertificates), `false` by default.
    ///
    /// Ignored unless `FetchConfiguration.allowsInvalidCertificates` is set.
    public var allowsInvalidCertificates = false
    /// Which responses are accepted, status 200…299 with any media type by default.
    public var rules = ResponseRules()
    /// Called before the request, with the response head, at most once per `progressInterval`, and at the end.
    ///
    /// It runs on the network thread and must not block.
    public var progress: (@Sendable (FetchProgress) -> Void)?
    /// The minimum time between two calls of `progress`, `100 ms` by default; zero reports each piece.
    public var progressInterval: Duration = .milliseconds(100)
    /// The minimum gain between two calls, as a fraction 0…1 of a known length, `0` by default
    /// (SDWebImage 5.21.5, minimumProgressInterval).
    public var progressFraction: Double = 0
    /// When the download fails with a timeout, waiting for a connection included; nil by default.
    public var deadline: ContinuousClock.Instant?
    /// Whether an equal request may share the transfer, `true` by default.
    public var mayShare = true
    /// Whether a response without a body is no failure, `false` by default.
    package var acceptsEmptyBody = false
    /// Whether this is a call of a service, not a download: any method may be sent, and a redirect is returned as it
    /// is. `false` by default.
    package var isServiceCall = false
    /// A part of an open file as the request body, in place of `body`; nil by default.
    package var upload: UploadedPart?
    /// Limits in place of the downloader's.
    package var limits: FetchLimits?
    /// An address policy in place of the downloader's.
    package var policy: AddressPolicy?
    /// Called after each request of the download, redirects included; nil by default. It must not block.
    package var observesHop: (@Sendable (FetchHop) -> Void)?
    /// Called with each time that a request of the download waited; nil by default. It must not block.
    package var observesWait: (@Sendable (FetchWait, Duration) -> Void)?
    /// Inspects the first bytes until it accepts or refuses them. It runs on the network thread and must not block.
    package var inspects: @Sendable (UnsafeRawBufferPointer) -> PrefixVerdict = { _ in .accepted }
    /// The maximum number of bytes that `inspects` receives, at least 4 KiB, `64 KiB` by default.
    package var inspectedBytes = 64 << 10

    /// An unconditional GET request.
    public init(_ url: String) { self.url = url }
}

/// The result of inspecting the first bytes of a body.
package enum PrefixVerdict: Sendable {
    /// Not recognised as an image yet: refused at the end of the body and after 4 KiB.
    case unrecognised
    /// An image; more bytes may still refuse it. Accepted after `FetchRequest.inspectedBytes`.
    case undecided
    case accepted
    case refused(FetchError.Code, String, needs: [RequiredSetting] = [])
}

/// The order of a download among those that wait
/// (SDWebImage 5.21.5, SDWebImageDownloaderHighPriority and SDWebImageDownloaderLowPriority).
public enum FetchPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    case low = -4
    case normal = 0
    case high = 4

    /// Orders by urgency, lowest first.
    public static func < (a: FetchPriority, b: FetchPriority) -> Bool { a.rawValue < b.rawValue }
}

/// The limits of one download.
public struct FetchLimits: Sendable, Hashable {
    /// Bytes of a body, `32 MiB`; counted as they arrive, independent of the headers.
    public var body: Int64 = 32 << 20
    /// A name lookup, `3 s`.
    public var lookup: Duration = .seconds(3)
    /// The TCP and TLS handshakes, `5 s`.
    public var connect: Duration = .seconds(5)
    /// Time without received bytes, `15 s` (SDWebImage 5.21.5, downloadTimeout).
    public var idle: Duration = .seconds(15)
    /// Lookups and transfers of all redirects together, `60 s`; waiting for a free connection does not count.
    public var total: Duration = .seconds(60)
    /// Redirects followed, `5`.
    public var redirects: Int = 5
    /// Bytes of the headers of one response, `64 KiB`.
    public var headers: Int = 64 << 10
    /// How often a broken transfer is continued, `3`; each try must receive at least one byte.
    public var resumptions: Int = 3

    /// The defaults.
    public init() {}
}

/// A part of an open file that is sent as the body of a request.
package struct UploadedPart: Sendable, Equatable {
    /// The file, open for reading; it stays the caller's and must be open until the call returns.
    package let file: Int32
    /// The first byte to send.
    package let offset: Int
    /// Bytes to send.
    package let count: Int

    /// A part of `file`, which must be that long.
    package init(of file: Int32, offset: Int = 0, count: Int) {
        self.file = file
        self.offset = offset
        self.count = count
    }

    /// Reads the bytes from `position` of the part on; 0 at its end, nil when the file cannot be read or is shorter.
    func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int? {
        let rest = min(buffer.count, count - position)
        if rest <= 0 { return 0 }
        while true {
            let read = pread(file, buffer.baseAddress, rest, off_t(offset + position))
            if read < 0 && errno == EINTR { continue }
            return read > 0 ? read : nil
        }
    }
}
