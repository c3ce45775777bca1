/// A URL's text split at its delimiters. Nothing is decoded.
struct URLParts {
    /// How a text is split. `components` is `NSURLComponents`, the others are `NSURL`.
    enum Grammar {
        case ios17, ios27, components
    }

    private(set) var scheme: ArraySlice<UInt8>?
    var user, password, host, port: ArraySlice<UInt8>?
    /// Whether the host is in brackets.
    private(set) var isLiteral = false
    var path: ArraySlice<UInt8>
    /// Without their delimiters; nil if missing.
    var query, fragment: ArraySlice<UInt8>?

    private static let slash = UInt8(ascii: "/")
    private static let colon = UInt8(ascii: ":")

    /// Nil for a malformed scheme, a port that is no number, and text after a bracket.
    init?(_ text: ArraySlice<UInt8>, _ grammar: Grammar) {
        var rest = text
        if let end = rest.firstIndex(where: {
            ":/?#".utf8.contains($0) || (grammar != .ios27 && "[]@".utf8.contains($0))
        }),
            rest[end] == Self.colon
        {
            let found = rest[..<end]
            if found.isEmpty ? grammar != .components : Self.isScheme(found) {
                scheme = found
                rest = rest[(end + 1)...]
            } else if !found.isEmpty && grammar != .ios27 {
                return nil
            }
        }
        fragment = Self.removeTail(&rest, from: UInt8(ascii: "#"))
        query = Self.removeTail(&rest, from: UInt8(ascii: "?"))
        path = rest
        guard rest.starts(with: [Self.slash, Self.slash]) else { return }
        let authority = rest.dropFirst(2).prefix { $0 != Self.slash }
        path = rest[authority.endIndex...]
        guard divide(authority, grammar) else { return nil }
    }

    /// Whether there is a path: false for opaque URLs such as `data:` and `mailto:`.
    var isDecomposable: Bool { scheme == nil || host != nil || path.first == Self.slash }

    func hasScheme(of names: Set<String>) -> Bool {
        scheme.map { names.contains(String(decoding: $0, as: UTF8.self).lowercased()) } ?? false
    }

    /// The parts with their delimiters.
    var text: [UInt8] {
        var text = scheme.map { $0 + [Self.colon] } ?? []
        if let host {
            text += [Self.slash, Self.slash]
            if let user { text += user + (password.map { [Self.colon] + $0 } ?? []) + [UInt8(ascii: "@")] }
            text += host + (port.map { [Self.colon] + $0 } ?? [])
        }
        text += path
        if let query { text += [UInt8(ascii: "?")] + query }
        if let fragment { text += [UInt8(ascii: "#")] + fragment }
        return Array(text)
    }

    /// Sets user, password, host and port; false if malformed.
    private mutating func divide(_ authority: ArraySlice<UInt8>, _ grammar: Grammar) -> Bool {
        var rest = authority
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            let owner = rest[..<at]
            let end = grammar == .ios27 ? owner.lastIndex(of: Self.colon) : owner.firstIndex(of: Self.colon)
            user = owner[..<(end ?? at)]
            password = end.map { owner[($0 + 1)...] }
            rest = rest[(at + 1)...]
        }
        let close = rest.first == UInt8(ascii: "[") ? rest.firstIndex(of: UInt8(ascii: "]")) : nil
        isLiteral = close != nil
        let end = close.map { $0 + 1 } ?? rest.firstIndex(of: Self.colon) ?? rest.endIndex
        host = rest[..<end]
        guard end < rest.endIndex else { return true }
        guard rest[end] == Self.colon else { return false }
        let digits = rest[(end + 1)...]
        port = digits.isEmpty && grammar == .components && !isLiteral ? nil : digits
        return digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        return bytes.first.map(isLetter) ?? false
            && bytes.allSatisfy { isLetter($0) || "0123456789+-.".utf8.contains($0) }
    }

    /// Removes everything from the first `delimiter` on from `rest` and returns it without the delimiter; nil if there
    /// is none.
    private static func removeTail(_ rest: inout ArraySlice<UInt8>, from delimiter: UInt8) -> ArraySlice<UInt8>? {
        guard let start = rest.firstIndex(of: delimiter) else { return nil }
        defer { rest = rest[..<start] }
        return rest[(start + 1)...]
    }
}
