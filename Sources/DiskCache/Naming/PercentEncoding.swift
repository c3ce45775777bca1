/// Percent-encoding of URL components (RFC 3986, section 2), on bytes.
enum PercentEncoding {
    /// A URL component, which determines the characters that need no escape.
    enum Part: UInt8, CaseIterable {
        /// `name` is a host; `authority` is a user, a password or an address in brackets.
        case path, name, authority, zone, queryOrFragment

        func allows(_ byte: UInt8) -> Bool { Self.allowed[Int(byte)] & (1 << rawValue) != 0 }

        /// One bit per part for each byte: keys of millions of images are checked.
        private static let allowed: [UInt8] = (0...255).map { byte in
            allCases.reduce(0) { $0 | ($1.isAllowing(byte) ? 1 << $1.rawValue : 0) }
        }

        private func isAllowing(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            case UInt8(ascii: ":"): self == .authority || self == .path || self == .queryOrFragment
            case UInt8(ascii: "/"), UInt8(ascii: "@"): self == .path || self == .queryOrFragment
            case UInt8(ascii: "?"): self == .queryOrFragment
            default: (self == .zone ? "-._~" : "-._~!$&'()*+,;=").utf8.contains(byte)
            }
        }
    }

    /// Whether `bytes` has only characters allowed in `part`, and escapes.
    static func isLegal(_ bytes: ArraySlice<UInt8>, for part: Part) -> Bool {
        bytes.indices.allSatisfy { index in
            part.allows(bytes[index]) || (bytes[index] == percent && escapedByte(at: index, of: bytes) != nil)
        }
    }

    /// Escapes every byte not allowed in `part`, with upper-case digits.
    ///
    /// - Parameter keepsEscapes: keeps a `%` that begins an escape.
    static func encode(_ bytes: ArraySlice<UInt8>, for part: Part, keepsEscapes: Bool) -> ArraySlice<UInt8> {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count)
        for index in bytes.indices {
            let byte = bytes[index]
            let isEscape = keepsEscapes && byte == percent && escapedByte(at: index, of: bytes) != nil
            if part.allows(byte) || isEscape { encoded.append(byte) } else { encoded += escape(byte) }
        }
        return encoded[...]
    }

    /// Escapes a whole path. Also escapes a colon in the first segment of a relative path, before which would be a
    /// scheme.
    static func encodePath(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let first = path.prefix { $0 != UInt8(ascii: "/") }
        let escaped = encode(first, for: .path, keepsEscapes: false)
            .flatMap { $0 == UInt8(ascii: ":") ? escape($0) : [$0] }
        return escaped + encode(path[first.endIndex...], for: .path, keepsEscapes: false)
    }

    /// Decodes escapes; keeps a `%` without two hexadecimal digits.
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
    private static func escape(_ byte: UInt8) -> [UInt8] {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10 }
        return [percent, digit(byte >> 4), digit(byte & 15)]
    }

    private static var percent: UInt8 { UInt8(ascii: "%") }

    /// The value of the escape at `index`; nil without two digits.
    private static func escapedByte(at index: Int, of bytes: ArraySlice<UInt8>) -> UInt8? {
        guard bytes.endIndex - index > 2, let high = value(bytes[index + 1]), let low = value(bytes[index + 2]) else {
            return nil
        }
        return high << 4 | low
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        Character(Unicode.Scalar(digit)).hexDigitValue.map { UInt8($0) }
    }
}
