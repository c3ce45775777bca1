/// The percent-encoding of Signature Version 4: all bytes but the unreserved ones of RFC 3986, in upper case.
package enum URIEscape {
    /// Encodes a query's name or value.
    package static func query(_ text: String) -> String { encode(text, keeping: []) }

    /// Encodes an object's key; slashes stay.
    package static func path(_ text: String) -> String { encode(text, keeping: [UInt8(ascii: "/")]) }

    private static func encode(_ text: String, keeping kept: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) || kept.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The text of an encoded one, in which a plus sign is a space, as listings have it.
    package static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), let value = UInt8(digits, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
            || "-._~".utf8.contains(byte)
    }
}
