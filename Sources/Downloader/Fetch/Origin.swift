/// The two schemes a download can have.
public enum Scheme: String, Hashable, Sendable {
    case http
    case https

    /// The port when the URL names none.
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
}

/// Who serves a URL: scheme, host and port in normal form, so that equal origins are equal values.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The scheme.
    public let scheme: Scheme
    /// Lower-case ASCII without a trailing dot (international names in their `xn--` form), or an address in its
    /// usual form, IPv6 without brackets. Being ASCII, equal strings are equal bytes.
    public let host: String
    /// The port, the scheme's own where a URL names none.
    public let port: UInt16

    /// The origin of a URL, `https://example.com` or one with a path.
    ///
    /// - Throws: `FetchError` `invalidURL` or `unsupportedScheme`.
    public init(of url: String) throws(FetchError) { self = try SourceURL(url).origin }

    init(scheme: Scheme, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// `https://example.com`, the port only where it is not the scheme's.
    public var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == scheme.defaultPort ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
    }
}
