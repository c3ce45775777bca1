/// The origin's images: PNGs of uncompressed noise, each computed from its number and edition, so that a stored
/// original can be compared with the served one.
enum ChaosImage {
    private static let width = 96
    private static let height = 64

    static func bytes(_ number: Int, edition: UInt32 = 0) -> [UInt8] {
        var random = SeededRandom(seed: UInt64(truncatingIfNeeded: number) ^ UInt64(edition) << 32)
        var rows: [UInt8] = []
        rows.reserveCapacity(height * (1 + width * 3))
        for _ in 0..<height {
            rows.append(0)
            for _ in 0..<width * 3 / 8 { withUnsafeBytes(of: random.next()) { rows.append(contentsOf: $0) } }
        }
        // Width and height, 8 bits, RGB, no interlacing.
        let header = big(UInt32(width)) + big(UInt32(height)) + [8, 2, 0, 0, 0]
        return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + chunk("IHDR", header)
            + chunk("edTn", big(edition)) + chunk("IDAT", stored(rows)) + chunk("IEND", [])
    }

    /// The edition in an image's bytes; 0 if they are too short.
    static func edition(of bytes: [UInt8]) -> UInt32 {
        // The chunk edTn follows the signature and IHDR: length, name, edition.
        bytes.count < 45 ? 0 : bytes[41..<45].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// A zlib stream of one stored block.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        let length = UInt16(bytes.count)
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        let head = [
            0x78, 0x01, 0x01, UInt8(length & 0xff), UInt8(length >> 8), UInt8(~length & 0xff), UInt8(~length >> 8),
        ]
        return head + bytes + big(high << 16 | low)
    }

    private static func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + bytes
        var sum: UInt32 = 0xffff_ffff
        for byte in body { sum = table[Int((sum ^ UInt32(byte)) & 0xff)] ^ (sum >> 8) }
        return big(UInt32(bytes.count)) + body + big(~sum)
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1 }
    }

    private static func big(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
}
