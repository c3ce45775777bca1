/// How much one download may take.
public struct FetchLimits: Sendable, Hashable {
    /// Bytes of a body, `32 MiB`; counted as they arrive, whatever the headers say.
    public var body: Int64 = 32 << 20
    /// A name look-up, `3 s`.
    public var lookup: Duration = .seconds(3)
    /// The TCP and TLS handshakes, `5 s`.
    public var connect: Duration = .seconds(5)
    /// Silence of the server, `15 s` (SDWebImage's `downloadTimeout`).
    public var idle: Duration = .seconds(15)
    /// Look-ups, handshakes and transfers of all hops together, `60 s`; waiting for a free connection does not count.
    public var total: Duration = .seconds(60)
    /// Redirects followed, `5`.
    public var redirects: Int = 5
    /// Bytes of the headers of one answer, `64 KiB`.
    public var headers: Int = 64 << 10
    /// Times a broken transfer may go on where it stopped, `3`; each must have brought something.
    public var resumptions: Int = 3

    /// The defaults.
    public init() {}
}

/// What a `ImageDownloader` is made with.
public struct FetchConfiguration: Sendable {
    /// Where downloads may go.
    public var policy: AddressPolicy
    /// Limits of each download, unless its request brings its own.
    public var limits: FetchLimits
    /// Transfers at once in all, `256`.
    public var transfers = 256
    /// Transfers at once to one origin, and so connections, `4`.
    public var transfersPerOrigin = 4
    /// Transfers at once to an origin that has answered over HTTP/2, where they share a connection, `8`.
    public var streamsPerOrigin = 8
    /// The header of that name.
    public var userAgent: String
    /// A PEM file of certificate authorities to trust instead of the system's.
    public var authorities: String?
    /// In which order waiting downloads start, `fifo`.
    public var order: ExecutionOrder = .fifo
    /// Profiles by the names that jobs use, none by default.
    public var credentials: [String: CredentialProfile] = [:]
    /// A proxy for all downloads, none by default; proxies of the environment are ignored.
    public var proxy: FetchProxy?

    /// The defaults but for what is given.
    public init(
        policy: AddressPolicy = AddressPolicy(), limits: FetchLimits = FetchLimits(),
        userAgent: String = FetchConfiguration.userAgent()
    ) {
        self.policy = policy
        self.limits = limits
        self.userAgent = userAgent
    }

    /// `larder/<version> (+contact)`, printable ASCII only; a contact tells an origin whom to ask to slow down.
    public static func userAgent(version: String = "0.1", contact: String? = nil) -> String {
        let text = contact.map { "larder/\(version) (+\($0))" } ?? "larder/\(version)"
        return String(decoding: text.utf8.filter { (0x20..<0x7f).contains($0) }, as: UTF8.self)
    }
}
