private import Glibc
package import ImageModel

/// One download: the request and the accepted responses. A request modifier may replace it.
public struct FetchRequest: Sendable {
    /// The URL as submitted; its bytes are its identity.
    public var url: String
    /// The method, ASCII letters, `GET` by default. `HEAD` and `CONNECT` are refused.
    public var method = "GET"
    /// Headers that replace the downloader's own; an empty value omits that header.
    ///
    /// On a redirect to another origin only Accept, Accept-Language and User-Agent are kept.
    public var headers: [HeaderField] = []
    /// The request body, nil by default. Never sent to another origin.
    public var body: [UInt8]?
    /// A profile of `FetchConfiguration.credentials`, nil by default. Sent only to its own origins.
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
    /// Accepted responses; by default status 200…299 with any media type.
    public var rules = ResponseRules()
    /// Called before the request, with the response head, at most once per `progressInterval`, and at the end.
    ///
    /// Runs on the network thread and must not block.
    public var progress: (@Sendable (FetchProgress) -> Void)?
    /// Minimum time between two calls of `progress`, `100 ms` by default; zero reports each piece.
    public var progressInterval: Duration = .milliseconds(100)
    /// Minimum gain between two calls, as a fraction 0…1 of a known length, `0` by default (SDWebImage 5.21.5,
    /// minimumProgressInterval).
    public var progressFraction: Double = 0
    /// When the download times out, including the wait for a connection; nil by default.
    public var deadline: ContinuousClock.Instant?
    /// Whether an equal request may share the transfer, `true` by default.
    public var mayShare = true
    /// Whether an empty body is accepted, `false` by default.
    package var acceptsEmptyBody = false
    /// Whether this is a service call instead of a download: any method is allowed and redirects are returned. `false`
    /// by default.
    package var isServiceCall = false
    /// A part of an open file as the request body, instead of `body`; nil by default.
    package var upload: UploadedPart?
    /// Minimum bytes of the body that are written at once, except for the last piece; 64 KiB by default.
    package var pieceBytes = 64 << 10
    /// Limits that replace the downloader's.
    package var limits: FetchLimits?
    /// An address policy that replaces the downloader's.
    package var policy: AddressPolicy?
    /// Called after each request, including redirects; nil by default. Must not block.
    package var observesHop: (@Sendable (FetchHop) -> Void)?
    /// Called with each wait of a request; nil by default. Must not block.
    package var observesWait: (@Sendable (FetchWait, Duration) -> Void)?
    /// Inspects the first bytes until it accepts or refuses them. Runs on the network thread and must not block.
    package var inspects: @Sendable (UnsafeRawBufferPointer) -> PrefixVerdict = { _ in .accepted }
    /// Maximum bytes passed to `inspects`, at least 4 KiB, `64 KiB` by default.
    package var inspectedBytes = 64 << 10

    /// An unconditional GET request.
    public init(_ url: String) { self.url = url }
}

/// The result of inspecting the first bytes of a body.
package enum PrefixVerdict: Sendable {
    /// Not recognised as an image yet. Refused at the end of the body and after 4 KiB.
    case unrecognised
    /// An image; later bytes may still refuse it. Accepted after `FetchRequest.inspectedBytes`.
    case undecided
    case accepted
    case refused(FetchError.Code, String, needs: [RequiredSetting] = [])
}

/// The order among waiting downloads (SDWebImage 5.21.5, SDWebImageDownloaderHighPriority and
/// SDWebImageDownloaderLowPriority).
public enum FetchPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    case low = -4
    case normal = 0
    case high = 4

    /// Lowest urgency first.
    public static func < (a: FetchPriority, b: FetchPriority) -> Bool { a.rawValue < b.rawValue }
}

/// The limits of one download.
public struct FetchLimits: Sendable, Hashable {
    /// Body bytes, `32 MiB`; counted on arrival, whatever the headers say.
    public var body: Int64 = 32 << 20
    /// A name lookup, `3 s`.
    public var lookup: Duration = .seconds(3)
    /// The TCP and TLS handshakes, `5 s`.
    public var connect: Duration = .seconds(5)
    /// Time without received bytes, `15 s` (SDWebImage 5.21.5, downloadTimeout).
    public var idle: Duration = .seconds(15)
    /// Lookups and transfers of all redirects, `60 s`, without the wait for a free connection.
    public var total: Duration = .seconds(60)
    /// Redirects followed, `5`.
    public var redirects: Int = 5
    /// Header bytes of one response, `64 KiB`.
    public var headers: Int = 64 << 10
    /// Times to continue a broken transfer, `3`; each try must receive at least one byte.
    public var resumptions: Int = 3

    /// The defaults.
    public init() {}
}

/// A part of an open file, sent as a request body.
package struct UploadedPart: Sendable, Equatable {
    /// Open for reading until the call returns; owned by the caller.
    package let file: Int32
    package let offset: Int
    package let count: Int

    package init(of file: Int32, offset: Int = 0, count: Int) {
        self.file = file
        self.offset = offset
        self.count = count
    }

    /// Reads from `position` within the part; 0 at its end, nil if the file is unreadable or shorter.
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
