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
