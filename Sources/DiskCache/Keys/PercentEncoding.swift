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
            if part.allows(byte) { encoded.append(byte) } else { append(byte, escapedTo: &encoded) }
        }
        return encoded
    }

    /// Like `encode`, but escapes that stand there already stay as they are spelled.
    static func repair(_ bytes: ArraySlice<UInt8>, for part: Part) -> [UInt8] {
        var repaired: [UInt8] = []
        repaired.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            // The digits of an escape are allowed anyway.
            if part.allows(byte) || (byte == percent && escapedByte(at: index, of: bytes) != nil) {
                repaired.append(byte)
            } else {
                append(byte, escapedTo: &repaired)
            }
            index += 1
        }
        return repaired
    }

    /// Escapes as the bytes they stand for; a `%` without two hexadecimal digits stays.
    static func decode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard bytes.contains(percent) else { return Array(bytes) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let escaped = bytes[index] == percent ? escapedByte(at: index, of: bytes) : nil
            decoded.append(escaped ?? bytes[index])
            index += escaped == nil ? 1 : 3
        }
        return decoded
    }

    /// `byte` as `%XX`.
    static func escape(_ byte: UInt8) -> [UInt8] {
        var bytes: [UInt8] = []
        append(byte, escapedTo: &bytes)
        return bytes
    }

    private static func append(_ byte: UInt8, escapedTo bytes: inout [UInt8]) {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10 }
        bytes.append(percent)
        bytes.append(digit(byte >> 4))
        bytes.append(digit(byte & 15))
    }

    private static var percent: UInt8 { UInt8(ascii: "%") }

    /// The byte that the escape at `index` stands for; nil when there are no two digits.
    private static func escapedByte(at index: Int, of bytes: ArraySlice<UInt8>) -> UInt8? {
        guard bytes.endIndex - index > 2, let high = value(bytes[index + 1]), let low = value(bytes[index + 2]) else {
            return nil
        }
        return high << 4 | low
    }

    /// What a hexadecimal digit is worth.
    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
