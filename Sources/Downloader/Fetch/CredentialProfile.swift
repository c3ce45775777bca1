/// Secrets for some origins, kept at the worker; jobs know a profile by its name only.
///
/// A profile is bound to its origins: a request or a redirect that goes anywhere else carries none of it.
public struct CredentialProfile: Sendable, Hashable {
    /// Where it may be used: scheme, host and port.
    public var origins: Set<Origin>
    /// Headers sent, `Authorization` for one.
    public var headers: [HeaderField]
    /// Cookies sent, by name.
    public var cookies: [HeaderField]
    /// For Basic or Digest, whichever the origin asks for; tried once.
    public var user: String?
    /// Goes with `user`.
    public var password: String?
    /// The path of a PEM file with a client's certificate.
    public var certificate: String?
    /// The path of a PEM file with its key; nil when the certificate's file holds it.
    public var key: String?
    /// What the key is encrypted with.
    public var keyPassword: String?
    /// The path of a PEM file of certificate authorities to trust instead of the system's.
    public var authorities: String?

    /// A profile without secrets yet, bound to `origins`.
    public init(origins: Set<Origin>) {
        self.origins = origins
        headers = []
        cookies = []
    }

    /// Whether it may be used at `origin`.
    public func covers(_ origin: Origin) -> Bool { origins.contains(origin) }
}

/// A proxy that all downloads go through. It connects in Larder's place, so the addresses it connects to are beyond
/// Larder's checks; guarantee 10 does not hold behind it.
public struct FetchProxy: Sendable, Hashable {
    /// `http` or `https`; userinfo in it is sent to the proxy.
    package let url: SourceURL

    /// - Throws: `invalidURL`, `unsupportedScheme` for a proxy that is neither http nor https.
    public init(_ text: String) throws(FetchError) { url = try SourceURL(text) }
}
