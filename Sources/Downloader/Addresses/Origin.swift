/// The schemes of a download.
public enum Scheme: String, Hashable, Sendable {
    case http
    case https

    /// The port of a URL without one.
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
}

/// A server: scheme, host and port in normal form.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// `http` or `https`.
    public let scheme: Scheme
    /// A lower-case ASCII name without trailing dot (international names as `xn--`), or an address, IPv6 without
    /// brackets.
    public let host: String
    /// The port, 1 to 65535.
    public let port: UInt16

    /// The origin of a URL.
    ///
    /// - Throws: `FetchError` `invalidURL` or `unsupportedScheme`.
    public init(of url: String) throws(FetchError) { self = try SourceURL(url).origin }

    init(scheme: Scheme, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// `https://example.com`, with a port other than the default.
    public var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == scheme.defaultPort ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
    }
}
