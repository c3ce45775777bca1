/// PNG files with given pixels.
enum SyntheticImage {
    /// An RGBA PNG; `pixel` gives red, green, blue, alpha.
    static func png(_ width: Int, _ height: Int, _ pixel: (Int, Int) -> [UInt8]) -> [UInt8] {
        var rows: [UInt8] = []
        for y in 0..<height {
            rows.append(0)
            for x in 0..<width { rows += pixel(x, y) }
        }
        return png(big(width) + big(height) + [8, 6, 0, 0, 0], rows)
    }

    /// - Parameter beforePixels: chunks between header and pixels.
    static func png(_ header: [UInt8], _ rows: [UInt8], beforePixels: [UInt8] = []) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + beforePixels
            + chunk("IDAT", zlib(rows))
            + chunk("IEND", [])
    }

    /// Black at one bit a pixel, for large sizes.
    static func black(_ width: Int, _ height: Int) -> [UInt8] {
        let rows = [UInt8](repeating: 0, count: ((width + 7) / 8 + 1) * height)
        return png(big(width) + big(height) + [1, 0, 0, 0, 0], rows)
    }

    static func plain(_ width: Int, _ height: Int, _ color: [UInt8]) -> [UInt8] { png(width, height) { _, _ in color } }

    /// Different pixels everywhere: x in red, y in green.
    static func map(_ width: Int, _ height: Int) -> [UInt8] {
        png(width, height) { x, y in [UInt8(x % 256), UInt8(y % 256), UInt8((x / 256 * 16 + y / 256) % 256), 255] }
    }

    static func big(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 255) } }

    static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + data
        return big(data.count) + body + big(Int(checksum(body)))
    }

    /// Stored, not compressed.
    static func zlib(_ data: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: data.count, by: 65535) {
            let block = data[start..<min(data.count, start + 65535)]
            let length = UInt16(block.count)
            result.append(start + block.count == data.count ? 1 : 0)
            for number in [length, ~length] { result += [UInt8(number & 255), UInt8(number >> 8)] }
            result += block
        }
        var (a, b): (UInt32, UInt32) = (1, 0)
        for byte in data {
            a = (a + UInt32(byte)) % 65521
            b = (b + a) % 65521
        }
        return result + big(Int(b << 16 | a))
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var value = UInt32.max
        for byte in bytes { value = table[Int((value ^ UInt32(byte)) & 255)] ^ value >> 8 }
        return ~value
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }
}
