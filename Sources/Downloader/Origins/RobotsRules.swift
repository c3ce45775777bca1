/// The rules of a `robots.txt` that hold for one robot (RFC 9309).
package struct RobotsRules: Sendable, Equatable {
    /// A rule: its longer pattern wins, `allow` on a tie.
    struct Rule: Sendable, Equatable {
        let pattern: RobotsPattern
        let allows: Bool
    }

    /// Bytes of a file that are read; what comes behind them counts for nothing.
    package static let longest = 500 << 10
    private static let mostRules = 10_000

    private let rules: [Rule]

    /// No rules: everything is allowed.
    package static let none = RobotsRules(rules: [])

    private init(rules: [Rule]) { self.rules = rules }

    /// Reads a file: the rules of all groups that name `token`, else of those for `*`.
    package init(_ bytes: some Collection<UInt8>, token: String = RobotsDirectives.productToken) {
        var own: [Rule]?
        var common: [Rule] = []
        var isOwn = false
        var isCommon = false
        var inRules = false
        for (key, value) in Self.lines(bytes) {
            switch key {
            case "user-agent":
                // A name behind rules begins another group.
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
                // An empty pattern is no rule.
                guard !value.isEmpty, value.utf8.count <= Self.longestCompared, isOwn || isCommon,
                    (own?.count ?? 0) + common.count < Self.mostRules
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
    }

    /// Whether a path, with its query, may be asked for. `/robots.txt` always may.
    package func allow(_ target: String) -> Bool {
        // What is longer, in a rule or a target, is there to keep the search busy.
        let target = Array(RobotsPattern.normal(target.isEmpty ? "/" : target).prefix(Self.longestCompared))
        if target == Array("/robots.txt".utf8) { return true }
        let best = rules.filter { $0.pattern.matches(target) }
            .max { ($0.pattern.length, $0.allows ? 1 : 0) < ($1.pattern.length, $1.allows ? 1 : 0) }
        return best?.allows ?? true
    }

    private static let longestCompared = 2048

    /// `key: value` of each line, keys in lower case, comments gone.
    private static func lines(_ bytes: some Collection<UInt8>) -> [(String, String)] {
        var text = Array(bytes.prefix(longest))
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
        return text.split { $0 == 0x0a || $0 == 0x0d }.compactMap { line in
            let content = line.prefix { $0 != UInt8(ascii: "#") }
            guard let colon = content.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let key = String(decoding: content[..<colon], as: UTF8.self).trimmingBlanks.lowercased()
            return (key, String(decoding: content[(colon + 1)...], as: UTF8.self).trimmingBlanks)
        }
    }
}

/// A path pattern of `robots.txt`: `*` is anything, `$` at its end is the end.
struct RobotsPattern: Sendable, Equatable {
    private let pieces: [[UInt8]]
    private let isAnchored: Bool
    /// Its length in bytes, which decides between rules.
    let length: Int

    init(_ text: String) {
        isAnchored = text.hasSuffix("$")
        let bytes = Self.normal(isAnchored ? String(text.dropLast()) : text)
        length = bytes.count
        pieces = bytes.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
    }

    /// Whether it matches a target in normal form. Each piece is looked for where the one before ended, so the time is
    /// at most the product of both lengths.
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

    /// Octets beyond ASCII percent-encoded, escapes of unreserved characters undone, the others in capitals.
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
