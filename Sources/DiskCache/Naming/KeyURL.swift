private import CICU

/// A cache key parsed like Apple's `NSURL`: by RFC 3986, with illegal characters escaped.
///
/// Escapes illegal characters in user, path, query and fragment. A non-ASCII host becomes Punycode by UTS 46; other
/// illegal characters in host or port make the key invalid. Foundation on Linux is not used, as it differs from `NSURL`
/// in opaque URLs and extensions. Sources: SDWebImage 5.21.5, `SDDiskCacheFileNameForKey`; swift-foundation, see
/// `URLRules`; CoreFoundation, `CFURLCopyPathExtension`.
struct KeyURL {
    /// Escaped.
    private let parts: URLParts

    /// Nil if `key` is not a URL.
    init?(_ key: [UInt8], rules: URLRules) {
        guard !key.isEmpty, var parts = URLParts(key[...], rules == .ios17 ? .ios17 : .ios27) else { return nil }
        guard parts.escape(rules) else { return nil }
        self.parts = parts
    }

    /// `NSURL.absoluteString`.
    var text: [UInt8] { parts.text }

    var isFile: Bool { parts.hasScheme(of: ["file"]) }

    /// `NSURL.pathExtension`, possibly empty. Nil for an opaque URL (`data:`, `mailto:`) and a path that is not UTF-8.
    var pathExtension: [UInt8]? {
        guard parts.isDecomposable else { return nil }
        return Self.decode(parts.path).map(PathString.urlPathExtension(of:))
    }

    /// The URL with another path, as `NSURLComponents` makes it. Nil if the result would not be a URL.
    ///
    /// - Parameter change: maps the decoded path to the new one, not yet escaped.
    func replacingPath(_ change: ([UInt8]) -> [UInt8]) -> [UInt8]? {
        guard var parts = URLParts(text[...], .components), parts.escape(.ios17) else { return nil }
        // A path that is not UTF-8 is treated as empty. In `NSURL` it has no extension unless that splits the text
        // elsewhere.
        let changed = change(Self.decode(parts.path) ?? []), slash = UInt8(ascii: "/")
        guard parts.host == nil ? !changed.starts(with: [slash, slash]) : (changed.isEmpty || changed.first == slash)
        else { return nil }
        parts.path = PercentEncoding.encodePath(changed[...])
        parts.port = parts.port.map { port in URLParts.number(port).map { Array($0.utf8)[...] } ?? port }
        return parts.text
    }

    /// Nil if the result is not UTF-8.
    private static func decode(_ path: ArraySlice<UInt8>) -> [UInt8]? {
        let decoded = PercentEncoding.decode(path)
        return String(validating: decoded, as: UTF8.self) == nil ? nil : decoded
    }
}

extension URLParts {
    /// Schemes whose hosts iOS 27 converts to Punycode; other hosts are percent-encoded.
    private static let webSchemes: Set<String> = ["ftp", "file", "http", "https", "ws", "wss"]
    /// Schemes whose hosts iOS 17 percent-encodes.
    private static let encodedHostSchemes: Set<String> = [
        "tel", "telemergencycall", "telprompt", "callto", "facetime", "facetime-prompt", "facetime-audio",
        "facetime-audio-prompt", "imap", "pop", "addressbook", "contact", "phasset", "http+unix", "https+unix",
        "ws+unix", "wss+unix",
    ]

    /// A port without leading zeros; nil if it is no `Int`.
    static func number(_ port: ArraySlice<UInt8>) -> String? {
        Int(String(decoding: port, as: UTF8.self)).map(String.init)
    }

    /// Escapes illegal characters; false if a host or relative path cannot be escaped.
    fileprivate mutating func escape(_ rules: URLRules) -> Bool {
        let before = self
        user = user.map { Self.escaped($0, .authority, rules) }
        password = password.map { Self.escaped($0, .authority, rules) }
        if let given = host {
            host = isLiteral ? Self.literalHost(given) : namedHost(given, rules)
            guard host != nil else { return false }
        }
        if !PercentEncoding.isLegal(path, for: .path) {
            if rules == .ios17 {
                path = PercentEncoding.encodePath(path)
            } else {
                // In a relative path, the part before a colon would be a scheme.
                let first = path.prefix { $0 != UInt8(ascii: "/") }
                guard scheme != nil || host != nil || !first.contains(UInt8(ascii: ":")) else { return false }
                path = PercentEncoding.encode(path, for: .path, keepsEscapes: true)
            }
        }
        query = query.map { Self.escaped($0, .queryOrFragment, rules) }
        fragment = fragment.map { Self.escaped($0, .queryOrFragment, rules) }
        if rules == .ios17, let given = port, text != before.text {
            port = Self.number(given).map { Array($0.utf8)[...] }
        }
        return true
    }

    private static func escaped(
        _ text: ArraySlice<UInt8>, _ part: PercentEncoding.Part, _ rules: URLRules
    ) -> ArraySlice<UInt8> {
        let isLegal = PercentEncoding.isLegal(text, for: part)
        return isLegal ? text : PercentEncoding.encode(text, for: part, keepsEscapes: rules == .ios27)
    }

    /// An address in brackets with its zone escaped. Nil if it has illegal characters before the zone.
    private static func literalHost(_ host: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let inside = host.dropFirst().dropLast()
        let percent = inside.firstIndex(of: UInt8(ascii: "%")) ?? inside.endIndex
        let (address, zone) = (inside[..<percent], inside[percent...])
        guard PercentEncoding.isLegal(address, for: .authority) else { return nil }
        let isLegal = zone.starts(with: "%25".utf8) && PercentEncoding.isLegal(zone.dropFirst(3), for: .zone)
        guard !zone.isEmpty, !isLegal else { return host }
        let escaped = PercentEncoding.encode(zone, for: .zone, keepsEscapes: false)
        return ([UInt8(ascii: "[")] + address + escaped + [UInt8(ascii: "]")])[...]
    }

    private func namedHost(_ host: ArraySlice<UInt8>, _ rules: URLRules) -> ArraySlice<UInt8>? {
        guard !PercentEncoding.isLegal(host, for: .name) else { return host }
        switch rules {
        case .ios17 where hasScheme(of: Self.encodedHostSchemes):
            return PercentEncoding.encode(host, for: .name, keepsEscapes: false)
        case .ios27 where !hasScheme(of: Self.webSchemes):
            let hasBracket = host.contains { "[]".utf8.contains($0) }
            return hasBracket ? nil : PercentEncoding.encode(host, for: .name, keepsEscapes: true)
        case .ios27 where !host.allSatisfy({ $0 >= 0x80 || PercentEncoding.Part.name.allows($0) }):
            return nil
        case .ios17, .ios27:
            guard let name = HostName.ascii(host), PercentEncoding.isLegal(name[...], for: .name) else { return nil }
            return name[...]
        }
    }
}

enum HostName {
    /// The longest name that Apple converts, and the longest result, in bytes.
    private static let limit = 2_048

    /// The name in ASCII by UTS 46 (`uidna_nameToASCII`); nil if invalid.
    ///
    /// Apple's Foundation uses the same ICU function with the same checks.
    static func ascii(_ name: ArraySlice<UInt8>) -> [UInt8]? {
        guard (1...limit).contains(name.count) else { return nil }
        // Unicode 15.1 changed one mapping of letters in use; iOS 18 has it, ICU 72 in Debian 12 does not.
        let name = name.replacing("\u{1E9E}".utf8, with: "\u{DF}".utf8)
        var ascii = [CChar](repeating: 0, count: limit)
        let count = name.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { name in
            ascii.withUnsafeMutableBufferPointer { ascii in
                icu_name_to_ascii(name.baseAddress, Int32(name.count), ascii.baseAddress, Int32(ascii.count))
            }
        }
        return count > 0 ? ascii.prefix(Int(count)).map { UInt8(bitPattern: $0) } : nil
    }
}

/// How Apple's `NSURL` escapes a text that is no valid URL. Determines variant keys and file name extensions.
///
/// Source: swift-foundation, `RFC3986Parser.parse` of Swift 6.3 (iOS 17 to 26) and `URL.parse` with `useModernParsing`
/// (iOS 27).
public enum URLRules: String, Sendable, CaseIterable {
    /// iOS 17 to 26, macOS 14 to 26: a component with an illegal character is escaped entirely, including the `%` of
    /// its escapes.
    case ios17
    /// iOS 27 and macOS 27: existing escapes are kept.
    case ios27

    /// The URL that an app makes from `text`: `NSURL.absoluteString`. Nil if it is no URL.
    public func absoluteString(of text: String) -> String? {
        KeyURL(Array(text.utf8), rules: self).map { String(decoding: $0.text, as: UTF8.self) }
    }
}
