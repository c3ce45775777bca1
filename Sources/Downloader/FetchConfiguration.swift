/// The configuration of an `ImageDownloader`.
public struct FetchConfiguration: Sendable {
    /// Addresses and ports that downloads may reach.
    public var policy: AddressPolicy
    /// Limits of each download.
    public var limits: FetchLimits
    /// Transfers at once in all, `256`.
    public var transfers = 256
    /// Transfers, and so connections, at once to one origin, `4`.
    public var transfersPerOrigin = 4
    /// Transfers at once to an origin that has responded over HTTP/2, where they share a connection, `8`.
    public var streamsPerOrigin = 8
    /// Breaker, holds and request rate of each origin.
    public var origins = OriginSettings()
    /// Limits of single hosts in place of `transfersPerOrigin`, `streamsPerOrigin` and `origins.rate`, by the host of
    /// `Origin`; none by default.
    public var hosts: [String: OriginOverride] = [:]
    /// Whether robots directives are obeyed and `robots.txt` is read; neither by default.
    public var robots = RobotsSettings()
    /// The `User-Agent` header.
    public var userAgent: String
    /// A PEM file of certificate authorities in place of the system's, nil by default.
    public var authorities: String?
    /// Whether `FetchRequest.allowsInvalidCertificates` has an effect, `false`.
    public var allowsInvalidCertificates = false
    /// The order in which waiting downloads start, `fifo`.
    public var order: ExecutionOrder = .fifo
    /// Credential profiles by the names that requests use, none by default.
    public var credentials: [String: CredentialProfile] = [:]
    /// Bytes of bodies that wait for the disk, at which HTTP/2 connections are paused, `64 MiB`.
    package var waitingBytes = 64 << 20
    /// A proxy for all downloads, none by default; proxies of the environment are ignored.
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

    /// `larder/<version> (+contact)`, printable ASCII only; the contact lets an origin report problems.
    public static func userAgent(version: String = "0.1", contact: String? = nil) -> String {
        let text = contact.map { "larder/\(version) (+\($0))" } ?? "larder/\(version)"
        return String(decoding: text.utf8.filter { (0x20..<0x7f).contains($0) }, as: UTF8.self)
    }
}

/// The order in which waiting downloads start (SDWebImage 5.21.5, SDWebImageDownloaderExecutionOrder).
public enum ExecutionOrder: Int, Sendable {
    /// Higher priority first, then the first that was requested.
    case fifo = 0
    /// The last that was requested first, independent of its priority.
    case lifo = 1
}

/// A proxy for all downloads. It connects in place of the downloader, which cannot check the addresses behind it:
/// guarantee 10 does not hold there.
public struct FetchProxy: Sendable, Hashable {
    /// `http` or `https`; its userinfo is sent to the proxy.
    package let url: SourceURL

    /// - Throws: `invalidURL`; `unsupportedScheme` for a proxy that is neither http nor https.
    public init(_ text: String) throws(FetchError) { url = try SourceURL(text) }
}
