/// A cache key parsed as `NSURL` parses it on iOS 17 and macOS 14: by RFC 3986, with invalid characters escaped.
///
/// Foundation on Linux rejects keys that Darwin escapes, and neither keeps every extension, so it is not used here.
/// Invalid characters in user, path, query and fragment are escaped; in host or port they make the key invalid. Source:
/// SDWebImage 5.21.5, `SDDiskCacheFileNameForKey` and Foundation's `NSURL`.
struct KeyURL {
    private let scheme: [UInt8]?
    /// The part between `//` and the path, escaped; nil without `//`.
    private let authority: [UInt8]?
    /// Not decoded.
    private let path: ArraySlice<UInt8>
    /// Query and fragment, not decoded, with their delimiters; nil when there is none.
    private let query, fragment: ArraySlice<UInt8>?

    /// Nil when `key` is not a URL.
    init?(_ key: [UInt8]) {
        guard !key.isEmpty else { return nil }
        var rest = key[...]

        scheme = KeyURL.removeScheme(&rest)
        if let scheme, !KeyURL.isScheme(scheme) { return nil }

        fragment = KeyURL.removeTail(&rest, from: UInt8(ascii: "#"))
        query = KeyURL.removeTail(&rest, from: UInt8(ascii: "?"))

        let slash = UInt8(ascii: "/")
        if rest.count > 1, rest[rest.startIndex] == slash, rest[rest.startIndex + 1] == slash {
            let raw = rest.dropFirst(2).prefix { $0 != slash }
            rest = rest.dropFirst(2 + raw.count)
            guard let authority = KeyURL.authority(raw) else { return nil }
            self.authority = authority
        } else {
            authority = nil
        }
        path = rest
    }

    /// Whether the scheme is `file`, in any case.
    var isFile: Bool { scheme.map { String(decoding: $0, as: UTF8.self).lowercased() == "file" } ?? false }

    /// The decoded path. Nil for an opaque URL (`data:`, `mailto:`) and when the result is not UTF-8.
    var decodedPath: [UInt8]? {
        if scheme != nil && authority == nil && path.first != UInt8(ascii: "/") { return nil }
        let decoded = PercentEncoding.decode(path)
        return String(validating: decoded, as: UTF8.self) == nil ? nil : decoded
    }

    /// The extension of the decoded path, possibly empty. Nil when there is no such path.
    var pathExtension: [UInt8]? { decodedPath.map(PathString.pathExtension(of:)) }

    /// The URL with its path replaced by `path`, which is not yet escaped. Nil when the result would not be a URL.
    func replacingPath(_ path: [UInt8]) -> [UInt8]? {
        let slash = UInt8(ascii: "/")
        guard authority == nil ? !path.starts(with: [slash, slash]) : (path.isEmpty || path.first == slash) else {
            return nil
        }
        var encoded = PercentEncoding.encode(path, for: .path)
        if scheme == nil && authority == nil {
            // A colon in the first component would turn the part before it into a scheme.
            let first = encoded.prefix { $0 != slash }
            let escaped = first.flatMap { $0 == UInt8(ascii: ":") ? PercentEncoding.escape($0) : [$0] }
            encoded.replaceSubrange(..<first.endIndex, with: escaped)
        }
        let front = (scheme.map { $0 + [UInt8(ascii: ":")] } ?? []) + (authority.map { [slash, slash] + $0 } ?? [])
        return front + encoded + KeyURL.escaped(query) + KeyURL.escaped(fragment)
    }

    /// Removes the part before the first `:`, and the colon, from `rest`; nil when a `/`, `?` or `#` comes first.
    private static func removeScheme(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        let end = rest.firstIndex {
            $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
        guard let end, end > rest.startIndex, rest[end] == UInt8(ascii: ":") else { return nil }
        defer { rest = rest[(end + 1)...] }
        return Array(rest[..<end])
    }

    private static func isScheme(_ bytes: [UInt8]) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        func isMark(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
        return bytes.first.map(isLetter) ?? false
            && bytes.allSatisfy { isLetter($0) || isDigit($0) || isMark($0) }
    }

    /// Removes the part from the first `delimiter` on from `rest`; nil when there is none.
    private static func removeTail(_ rest: inout ArraySlice<UInt8>, from delimiter: UInt8) -> ArraySlice<UInt8>? {
        guard let start = rest.firstIndex(of: delimiter) else { return nil }
        defer { rest = rest[..<start] }
        return rest[start...]
    }

    /// Escapes a query or fragment except for its delimiter.
    private static func escaped(_ tail: ArraySlice<UInt8>?) -> [UInt8] {
        tail.map { $0.prefix(1) + encoded($0.dropFirst(), for: .queryOrFragment) } ?? []
    }

    /// User, host and port, escaped. Nil when host or port contain invalid characters.
    private static func authority(_ raw: ArraySlice<UInt8>) -> [UInt8]? {
        var user: [UInt8] = []
        var rest = raw
        if let at = raw.lastIndex(of: UInt8(ascii: "@")) {
            user = encoded(raw[..<at], for: .user) + [UInt8(ascii: "@")]
            rest = raw[(at + 1)...]
        }
        let host: [UInt8]?
        let port: ArraySlice<UInt8>
        if rest.first == UInt8(ascii: "[") {
            guard let close = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = literalHost(rest[...close])
            port = rest[(close + 1)...]
        } else {
            let colon = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
            host = namedHost(rest[..<colon])
            port = rest[colon...]
        }
        guard let host, isPort(port) else { return nil }
        return user + host + port
    }

    /// Escapes invalid characters and keeps existing escapes.
    private static func encoded(_ bytes: ArraySlice<UInt8>, for part: PercentEncoding.Part) -> [UInt8] {
        PercentEncoding.encode(Array(bytes), for: part, keepsEscapes: true)
    }

    private static func isPort(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let colon = bytes.first else { return true }
        return colon == UInt8(ascii: ":")
            && bytes.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func literalHost(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let inside = bytes.dropFirst().dropLast().filter { $0 != UInt8(ascii: ":") }
        return encoded(inside[...], for: .host) == inside ? Array(bytes) : nil
    }

    /// A host name, in Punycode unless it is ASCII.
    private static func namedHost(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var name = Array(bytes)
        if name.contains(where: { $0 >= 0x80 }) {
            guard let ascii = asciiHost(String(decoding: name, as: UTF8.self)) else { return nil }
            name = ascii
        }
        return encoded(name[...], for: .host) == name ? name : nil
    }

    /// Labels of 1 to 63 bytes in Punycode. A trailing dot, which GLib removes, is kept.
    private static func asciiHost(_ name: String) -> [UInt8]? {
        // IDNA accepts three more characters as dots.
        let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{ff0e}", "\u{ff61}"]
        var labels = name.unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: dots.contains)
        let endsInDot = labels.count > 1 && labels.last?.isEmpty == true
        if endsInDot { labels.removeLast() }
        guard labels.allSatisfy({ !$0.isEmpty }), let ascii = GLibText.asciiHost(name) else { return nil }
        let found = Array(ascii.lowercased().utf8)
        let parts = found.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == labels.count, parts.allSatisfy({ (1..<64).contains($0.count) }) else { return nil }
        return endsInDot ? found + [UInt8(ascii: ".")] : found
    }
}
