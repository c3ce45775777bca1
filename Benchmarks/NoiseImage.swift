import Foundation
import ImageModel

/// A image of waves, edges and noise, in PNG files that are not compressed.
struct NoiseImage {
    let width, height: Int
    /// Red, green and blue of each pixel, row by row.
    private let pixels: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        var random = UInt64(7)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * 3)
        for y in 0..<height {
            for x in 0..<width {
                // The generator of Numerical Recipes.
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let edge = (y / 150 + x / 200) % 2 == 0 ? 60.0 : 0
                for (band, length) in [97.0, 41, 173].enumerated() {
                    let wave = sin(Double(x) / length) * 50 + cos(Double(y) / (length * 0.7)) * 50
                    let noise = Double((random >> (33 + 5 * band)) & 31)
                    pixels.append(UInt8(min(255, max(0, 100 + wave + noise - edge))))
                }
            }
        }
        self.pixels = pixels
    }

    /// The whole image.
    var still: [UInt8] {
        Self.start(width, height) + PNGChunks.chunk("IDAT", compressed(0, 0, width, height))
            + PNGChunks.chunk("IEND", [])
    }

    /// A part of the image that moves by 8 and 4 pixels from frame to frame.
    func animation(width: Int, height: Int, frames: Int) -> [UInt8] {
        var file = Self.start(width, height)
        file += PNGChunks.chunk("acTL", PNGChunks.bytes(frames) + PNGChunks.bytes(0))
        var sequence = 0
        func next() -> [UInt8] {
            sequence += 1
            return PNGChunks.bytes(sequence - 1)
        }
        for number in 0..<frames {
            // A whole frame at the top left, of 50 ms, that replaces the one before.
            let size = PNGChunks.bytes(width) + PNGChunks.bytes(height)
            file += PNGChunks.chunk("fcTL", next() + size + [0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 3, 232, 0, 0])
            let part = compressed(
                number * 8 % (self.width - width), number * 4 % (self.height - height), width, height)
            file += number == 0 ? PNGChunks.chunk("IDAT", part) : PNGChunks.chunk("fdAT", next() + part)
        }
        return file + PNGChunks.chunk("IEND", [])
    }

    private static func start(_ width: Int, _ height: Int) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + PNGChunks.chunk("IHDR", PNGChunks.bytes(width) + PNGChunks.bytes(height) + [8, 2, 0, 0, 0])
    }

    /// The rows of a part in blocks that are stored (RFC 1950 and 1951).
    private func compressed(_ left: Int, _ top: Int, _ width: Int, _ height: Int) -> [UInt8] {
        var rows: [UInt8] = []
        for y in top..<top + height {
            let start = (y * self.width + left) * 3
            rows.append(0)
            rows += pixels[start..<start + width * 3]
        }
        var result: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: rows.count, by: 65535) {
            let block = rows[start..<min(rows.count, start + 65535)], length = UInt16(block.count)
            result.append(start + block.count == rows.count ? 1 : 0)
            for number in [length, ~length] { result += [UInt8(number & 255), UInt8(number >> 8)] }
            result += block
        }
        var sums = (one: 1, two: 0)
        for byte in rows {
            sums.one = (sums.one + Int(byte)) % 65521
            sums.two = (sums.two + sums.one) % 65521
        }
        return result + PNGChunks.bytes(sums.two << 16 | sums.one)
    }
}
