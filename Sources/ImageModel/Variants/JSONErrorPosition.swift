/// The position at which a text stops being JSON.
package enum JSONErrorPosition {
    /// `line 1, column 5`, both from 1, columns in bytes; nil if the text is JSON.
    package static func text(in bytes: [UInt8]) -> String? {
        var grammar = JSONGrammar(bytes)
        guard let offset = grammar.fault() else { return nil }
        let before = bytes.prefix(offset)
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return "line \(before.count { $0 == UInt8(ascii: "\n") } + 1), column \(before.count - lineStart + 1)"
    }
}

/// The grammar of RFC 8259, to locate a syntax error: Foundation's decoder reports no position.
private struct JSONGrammar {
    private enum Expected {
        /// `first`: the container may end here instead.
        case value(first: Bool), key(first: Bool)
        case colon, separator
    }

    private let bytes: [UInt8]
    private var position = 0
    /// The closing bytes of the open containers.
    private var ends: [UInt8] = []

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The offset of the first illegal byte; the text's end if it ends too early.
    mutating func fault() -> Int? {
        var expected = Expected.value(first: false)
        while true {
            skip { [0x20, 0x09, 0x0a, 0x0d].contains($0) }
            guard let byte = next else {
                if case .separator = expected, ends.isEmpty { return nil }
                return position
            }
            switch (expected, byte) {
            case (.value(first: true), ends.last), (.key(first: true), ends.last), (.separator, ends.last):
                position += 1
                ends.removeLast()
                expected = .separator
            case (.separator, UInt8(ascii: ",")) where !ends.isEmpty:
                position += 1
                expected = ends.last == UInt8(ascii: "}") ? .key(first: false) : .value(first: false)
            case (.colon, UInt8(ascii: ":")):
                position += 1
                expected = .value(first: false)
            case (.key, UInt8(ascii: "\"")):
                guard string() else { return position }
                expected = .colon
            case (.value, UInt8(ascii: "{")):
                position += 1
                ends.append(UInt8(ascii: "}"))
                expected = .key(first: true)
            case (.value, UInt8(ascii: "[")):
                position += 1
                ends.append(UInt8(ascii: "]"))
                expected = .value(first: true)
            case (.value, _):
                guard scalar(byte) else { return position }
                expected = .separator
            default: return position
            }
        }
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        while let byte = next, isSkipped(byte) { position += 1 }
    }

    private mutating func scalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""): string()
        case UInt8(ascii: "t"): word("true")
        case UInt8(ascii: "f"): word("false")
        case UInt8(ascii: "n"): word("null")
        default: number()
        }
    }

    private mutating func word(_ word: String) -> Bool {
        word.utf8.allSatisfy { byte in
            guard next == byte else { return false }
            position += 1
            return true
        }
    }

    private mutating func string() -> Bool {
        position += 1
        while let byte = next, byte >= 0x20 {
            position += 1
            if byte == UInt8(ascii: "\"") { return true }
            guard byte == UInt8(ascii: "\\") else { continue }
            guard let escaped = next, Array("\"\\/bfnrtu".utf8).contains(escaped) else { return false }
            position += 1
            for _ in 0..<(escaped == UInt8(ascii: "u") ? 4 : 0) {
                guard let digit = next, Character(UnicodeScalar(digit)).isHexDigit else { return false }
                position += 1
            }
        }
        return false
    }

    private mutating func number() -> Bool {
        if next == UInt8(ascii: "-") { position += 1 }
        let start = position
        guard digits() else { return false }
        // No digit may follow a leading zero.
        if bytes[start] == UInt8(ascii: "0"), position > start + 1 {
            position = start + 1
            return false
        }
        if next == UInt8(ascii: ".") {
            position += 1
            guard digits() else { return false }
        }
        guard next == UInt8(ascii: "e") || next == UInt8(ascii: "E") else { return true }
        position += 1
        if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
        return digits()
    }

    private mutating func digits() -> Bool {
        let start = position
        skip { (0x30...0x39).contains($0) }
        return position > start
    }
}
