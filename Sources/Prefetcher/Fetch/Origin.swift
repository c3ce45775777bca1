/// The two schemes a download can have.
public enum Scheme: String, Hashable, Sendable {
    case http
    case https

    /// The port when the URL names none.
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
}

/// Who serves a URL: scheme, host and port in normal form, so that equal origins are equal values.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    public let scheme: Scheme
    /// Lower-case ASCII without a trailing dot (international names in their `xn--` form), or an address in its
    /// usual form, IPv6 without brackets. Being ASCII, equal strings are equal bytes.
    public let host: String
    public let port: UInt16

    /// `https://example.com`, the port only where it is not the scheme's.
    public var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == scheme.defaultPort ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
    }
}
