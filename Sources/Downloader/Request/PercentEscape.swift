/// Percent-encoding of untrusted bytes for logs, tables and pages.
enum PercentEscape {
    /// `%` and two upper-case hexadecimal digits.
    static func escape(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Printable ASCII unchanged, every other byte percent-encoded, at most `limit` bytes.
    static func printable(_ bytes: some Collection<UInt8>, limit: Int) -> String {
        if bytes.count <= limit && bytes.allSatisfy({ (0x20..<0x7f).contains($0) }) {
            return String(decoding: bytes, as: UTF8.self)
        }
        var text: [UInt8] = []
        for byte in bytes {
            let next = (0x20..<0x7f).contains(byte) ? [byte] : escape(byte)
            if text.count + next.count > limit { break }
            text.append(contentsOf: next)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
