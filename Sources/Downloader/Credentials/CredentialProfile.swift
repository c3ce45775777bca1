/// Secrets for some origins; requests refer to a profile by its name.
///
/// No part of a profile is sent to an origin that it does not list, by a request or by a redirect.
public struct CredentialProfile: Sendable, Hashable {
    /// The origins that receive it.
    public var origins: Set<Origin>
    /// Headers to send, such as `Authorization`.
    public var headers: [HeaderField]
    /// Cookies to send.
    public var cookies: [HeaderField]
    /// The user for Basic or Digest authentication, as the origin requests; tried once.
    public var user: String?
    /// The password of basic authentication.
    public var password: String?
    /// The path of a PEM file with a client certificate.
    public var certificate: String?
    /// The path of a PEM file with its key; nil when `certificate` contains it.
    public var key: String?
    /// The password of an encrypted key.
    public var keyPassword: String?
    /// The path of a PEM file of certificate authorities in place of the system's.
    public var authorities: String?

    /// A profile without secrets.
    public init(origins: Set<Origin>) {
        self.origins = origins
        headers = []
        cookies = []
    }

    /// Whether it may be sent to `origin`.
    public func covers(_ origin: Origin) -> Bool { origins.contains(origin) }
}
