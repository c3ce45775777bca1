/// Percent-encoding of the parts of a URL (RFC 3986, section 2), on bytes.
enum PercentEncoding {
    /// Which characters a part of a URL may hold as they are.
    enum Part {
        case path, user, host, queryOrFragment

        func allows(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                true
            case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
                UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"),
                UInt8(ascii: "="):
                true
            case UInt8(ascii: ":"): self != .host
            case UInt8(ascii: "/"), UInt8(ascii: "@"): self == .path || self == .queryOrFragment
            case UInt8(ascii: "?"): self == .queryOrFragment
            default: false
            }
        }
    }

    /// Every byte that `part` may not hold, `%` included, as an escape with upper-case digits.
    static func encode(_ bytes: some Sequence<UInt8>, for part: Part) -> [UInt8] {
        var encoded: [UInt8] = []
        for byte in bytes {
            if part.allows(byte) { encoded.append(byte) } else { encoded += escape(byte) }
        }
        return encoded
    }

    /// Like `encode`, but escapes that stand there already stay as they are spelled.
    static func repair(_ bytes: some Collection<UInt8>, for part: Part) -> [UInt8] {
        var repaired: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.first {
            if byte == percent && escapedByte(at: rest) != nil {
                repaired += rest.prefix(3)
                rest = rest.dropFirst(3)
            } else {
                repaired += part.allows(byte) ? [byte] : escape(byte)
                rest = rest.dropFirst()
            }
        }
        return repaired
    }

    /// Escapes as the bytes they stand for; a `%` without two hexadecimal digits stays.
    static func decode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.first {
            let escaped = byte == percent ? escapedByte(at: rest) : nil
            decoded.append(escaped ?? byte)
            rest = rest.dropFirst(escaped == nil ? 1 : 3)
        }
        return decoded
    }

    /// `byte` as `%XX`.
    static func escape(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    private static let percent = UInt8(ascii: "%")

    /// The byte that the escape at the start of `bytes` stands for; nil when there are no two digits.
    private static func escapedByte(at bytes: some Collection<UInt8>) -> UInt8? {
        let digits = bytes.dropFirst().prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        return digits.count == 2 ? UInt8(digits[0] * 16 + digits[1]) : nil
    }
}
