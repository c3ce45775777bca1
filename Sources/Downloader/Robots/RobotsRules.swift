/// The `robots.txt` rules for one robot (RFC 9309).
package struct RobotsRules: Sendable, Equatable {
    /// The longest matching pattern decides, `allow` on a tie.
    struct Rule: Sendable, Equatable {
        let pattern: RobotsPattern
        let allows: Bool
    }

    /// Bytes read from a file; the rest is ignored.
    static let maximumBytes = 500 << 10
    private static let maximumRules = 10_000
    /// Bounds the matching time: longer patterns are ignored, longer targets are cut.
    private static let maximumPatternBytes = 2048

    private let rules: [Rule]
    let bytes: Int

    /// No rules: everything is allowed.
    static let none = RobotsRules([])

    /// Parses a file: the rules of all groups for `token`, else for `*`.
    package init(_ bytes: some Collection<UInt8>, token: String = RobotsDirectives.productToken) {
        var own: [Rule]?
        var common: [Rule] = []
        var isOwn = false
        var isCommon = false
        var inRules = false
        for (key, value) in Self.lines(bytes) {
            switch key {
            case "user-agent":
                // A name after rules begins another group.
                if inRules {
                    isOwn = false
                    isCommon = false
                    inRules = false
                }
                if value == "*" {
                    isCommon = true
                } else if value.prefix(while: { $0.isLetter || $0 == "_" || $0 == "-" }).lowercased() == token {
                    isOwn = true
                    own = own ?? []
                }
            case "allow", "disallow":
                inRules = true
                // An empty pattern is not a rule.
                guard !value.isEmpty, value.utf8.count <= Self.maximumPatternBytes, isOwn || isCommon,
                    (own?.count ?? 0) + common.count < Self.maximumRules
                else {
                    continue
                }
                let rule = Rule(pattern: RobotsPattern(value), allows: key == "allow")
                if isOwn { own?.append(rule) }
                if isCommon { common.append(rule) }
            default:
                continue
            }
        }
        rules = own ?? common
        self.bytes = bytes.count
    }

    /// Whether a path with query may be requested; `/robots.txt` always may.
    func allow(_ target: String) -> Bool {
        let target = Array(RobotsPattern.normal(target.isEmpty ? "/" : target).prefix(Self.maximumPatternBytes))
        if target == Array("/robots.txt".utf8) { return true }
        let best = rules.filter { $0.pattern.matches(target) }
            .max { ($0.pattern.length, $0.allows ? 1 : 0) < ($1.pattern.length, $1.allows ? 1 : 0) }
        return best?.allows ?? true
    }

    /// `key: value` of each line, keys in lower case, without comments.
    private static func lines(_ bytes: some Collection<UInt8>) -> [(String, String)] {
        var text = Array(bytes.prefix(maximumBytes))
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
        return text.split { $0 == 0x0a || $0 == 0x0d }.compactMap { line in
            let content = line.prefix { $0 != UInt8(ascii: "#") }
            guard let colon = content.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let key = String(decoding: content[..<colon], as: UTF8.self).trimmingBlanks.lowercased()
            return (key, String(decoding: content[(colon + 1)...], as: UTF8.self).trimmingBlanks)
        }
    }
}

/// A path pattern of `robots.txt`: `*` matches any text, a final `$` the end.
struct RobotsPattern: Sendable, Equatable {
    private let pieces: [[UInt8]]
    private let isAnchored: Bool
    /// In bytes; the longest pattern wins.
    let length: Int

    init(_ text: String) {
        isAnchored = text.hasSuffix("$")
        let bytes = Self.normal(isAnchored ? String(text.dropLast()) : text)
        length = bytes.count
        pieces = bytes.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
    }

    /// Matches a target in normal form, in time proportional to the product of both lengths.
    func matches(_ target: [UInt8]) -> Bool {
        guard target.starts(with: pieces[0]) else { return false }
        var rest = target[pieces[0].count...]
        if pieces.count == 1 { return !isAnchored || rest.isEmpty }
        for piece in pieces[1...].dropLast() where !piece.isEmpty {
            guard let found = rest.firstRange(of: piece) else { return false }
            rest = rest[found.upperBound...]
        }
        let last = pieces[pieces.count - 1]
        if isAnchored { return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last) }
        return last.isEmpty || rest.firstRange(of: last) != nil
    }

    /// Percent-encodes bytes beyond ASCII, decodes escapes of unreserved characters, and upper-cases other escapes.
    static func normal(_ text: String) -> [UInt8] {
        var normal: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, rest.first != UInt8(ascii: "+"),
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                rest = rest.dropFirst(2)
                normal.append(contentsOf: isUnreserved(value) ? [value] : PercentEscape.escape(value))
            } else if byte >= 0x80 {
                normal.append(contentsOf: PercentEscape.escape(byte))
            } else {
                normal.append(byte)
            }
        }
        return normal
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
            || "-._~".utf8.contains(byte)
    }
}
