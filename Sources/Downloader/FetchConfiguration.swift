/// The configuration of an `ImageDownloader`.
public struct FetchConfiguration: Sendable {
    /// Addresses and ports that downloads may reach.
    public var policy: AddressPolicy
    /// Limits of each download.
    public var limits: FetchLimits
    /// Concurrent transfers in total, `256`.
    public var transfers = 256
    /// Concurrent transfers, and so connections, per origin, `4`.
    public var transfersPerOrigin = 4
    /// Concurrent transfers to an origin that responded over HTTP/2, where they share a connection, `8`.
    public var streamsPerOrigin = 8
    /// Breaker, holds and request rate of each origin.
    public var origins = OriginSettings()
    /// Limits of single hosts that replace `transfersPerOrigin`, `streamsPerOrigin` and `origins.rate`, by
    /// `Origin.host`; none by default.
    public var hosts: [String: OriginOverride] = [:]
    /// Whether to obey robots directives and read `robots.txt`; neither by default.
    public var robots = RobotsSettings()
    /// The `User-Agent` header.
    public var userAgent: String
    /// A PEM file of certificate authorities that replaces the system's; nil by default.
    public var authorities: String?
    /// Whether `FetchRequest.allowsInvalidCertificates` has an effect, `false`.
    public var allowsInvalidCertificates = false
    /// The order in which waiting downloads start, `fifo`.
    public var order: ExecutionOrder = .fifo
    /// Credential profiles by name; none by default.
    public var credentials: [String: CredentialProfile] = [:]
    /// HTTP/2 connections pause when this many body bytes wait for the disk, `64 MiB`.
    package var waitingBytes = 64 << 20
    /// A proxy for all downloads, none by default; proxies from the environment are ignored.
    public var proxy: FetchProxy?

    /// The defaults except for the arguments.
    public init(
        policy: AddressPolicy = AddressPolicy(), limits: FetchLimits = FetchLimits(),
        userAgent: String = FetchConfiguration.userAgent()
    ) {
        self.policy = policy
        self.limits = limits
        self.userAgent = userAgent
    }

    /// `larder/<version> (+contact)`, printable ASCII; the contact lets origins report problems.
    public static func userAgent(version: String = "0.1", contact: String? = nil) -> String {
        let text = contact.map { "larder/\(version) (+\($0))" } ?? "larder/\(version)"
        return String(decoding: text.utf8.filter { (0x20..<0x7f).contains($0) }, as: UTF8.self)
    }
}

/// The order in which waiting downloads start (SDWebImage 5.21.5, SDWebImageDownloaderExecutionOrder).
public enum ExecutionOrder: Int, Sendable {
    /// Higher priority first, then oldest first.
    case fifo = 0
    /// Newest first, regardless of priority.
    case lifo = 1
}

/// A proxy for all downloads. The proxy connects to origins, so the downloader cannot check their addresses: guarantee
/// 10 does not hold.
public struct FetchProxy: Sendable, Hashable {
    /// `http` or `https`; its userinfo is sent to the proxy.
    package let url: SourceURL

    /// - Throws: `invalidURL`; `unsupportedScheme` unless it is http or https.
    public init(_ text: String) throws(FetchError) { url = try SourceURL(text) }
}
