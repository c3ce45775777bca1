package import Downloader
public import ImageModel

/// Where originals come from: SDWebImage's loader.
///
/// A manager asks its sources whether they know a URL, the last added first; the first that does loads it.
/// Source: SDWebImage 5.21.5, `SDImageLoader`, `SDImageLoadersManager`.
public protocol ImageSource: Sendable {
    /// Whether this source knows how to load `url`.
    func canLoad(_ url: String) -> Bool

    /// Brings the original into `file`, an empty open file that stays the caller's; one that may take long ends early
    /// when its task is cancelled.
    ///
    /// - Throws: `LoadError`; what `file` holds then does not matter.
    func load(_ request: SourceRequest, into file: Int32) async throws(LoadError) -> SourceAnswer

    /// Whether a URL that failed so is not to be tried again; `BlockRule.standard` by default.
    func shouldBlock(_ url: String, after failure: FailureReason) -> Bool
}

extension ImageSource {
    /// SDWebImage's rule.
    public func shouldBlock(_ url: String, after failure: FailureReason) -> Bool { BlockRule.standard(failure) }
}

/// What a source is asked for; a request modifier may replace it.
public struct SourceRequest: Sendable {
    /// The URL, as submitted.
    public var url: String
    /// The method, `GET` by default.
    public var method = "GET"
    /// Headers beside the source's own; an empty value takes one away.
    public var headers: [String: String] = [:]
    /// The body, for methods that have one.
    public var body: String?
    /// The load's options.
    public var options: LoadOptions = []
    /// The credential profile to send; nil, the default, sends none.
    public var credentials: String?
    /// What is known of the cached original, so that the server may answer that it has not changed; nil asks without
    /// condition.
    public var validators: Validators?
    /// Told of the bytes that have arrived, and of how many there will be where that is known; must not block.
    public var progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)?
    /// Sees the status and the headers before they are judged; nil of it is error 2003.
    public var responseModifier: ResponseModifier?
    /// Judges the first bytes: false ends the download, nil asks for more.
    package var accepts: @Sendable (UnsafeRawBufferPointer) -> Bool? = { _ in true }
    /// Judges what the first bytes declare of the picture: one over a limit ends the download.
    package var inspects: (@Sendable (UnsafeRawBufferPointer) -> PrefixVerdict)?

    /// A plain request for `url`.
    public init(url: String) { self.url = url }
}

/// Status and headers of a server's answer.
public struct SourceResponse: Sendable, Equatable {
    /// The status.
    public var status: Int
    /// The headers, names in lower case.
    public var headers: [String: String]

    /// Describes an answer.
    public init(status: Int, headers: [String: String] = [:]) {
        self.status = status
        self.headers = headers
    }
}

/// What a source answers.
public enum SourceAnswer: Sendable {
    /// The file holds the original.
    case body(SourceBody)
    /// The cached original is still what the server has (SDWebImage's error 1002, which is no failure).
    case notModified
}

/// An original that a source brought.
public struct SourceBody: Sendable {
    /// Its length, at least 1.
    public var bytes: Int
    /// Its SHA-256, 32 bytes.
    public var sha256: [UInt8]
    /// The status of the answer; nil where there is none.
    public var status: Int?
    /// The headers by which the next request can be made conditional.
    public var etag, lastModified: String?
    /// `X-Robots-Tag`, escaped.
    public var robotsTag: String?
    /// What the origin wants of robots, read from that header and from `robots.txt`, when it said anything.
    public var robots: String?

    /// Describes an original.
    public init(bytes: Int, sha256: [UInt8], status: Int? = nil) {
        self.bytes = bytes
        self.sha256 = sha256
        self.status = status
    }
}

/// Replaces a request before it is sent; nil gives it up with error 2000.
public typealias RequestModifier = @Sendable (SourceRequest) -> SourceRequest?

/// Replaces a server's status and headers before they are judged; nil gives the download up with error 2003.
public typealias ResponseModifier = @Sendable (SourceResponse) -> SourceResponse?
