/// The two schemes a download can have.
package enum Scheme: String, Hashable, Sendable {
    case http
    case https

    /// The port when the URL names none.
    package var defaultPort: UInt16 { self == .http ? 80 : 443 }
}

/// Who serves a URL: scheme, host and port in normal form, so that equal origins are equal values.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    package let scheme: Scheme
    /// Lower-case ASCII without a trailing dot (international names in their `xn--` form), or an address in its
    /// usual form, IPv6 without brackets. Being ASCII, equal strings are equal bytes.
    package let host: String
    package let port: UInt16

    /// `https://example.com`, the port only where it is not the scheme's.
    package var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == scheme.defaultPort ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
    }
}
