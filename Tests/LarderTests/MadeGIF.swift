import TestSupport

/// Animated GIFs of noise, which no encoder makes small.
enum MadeGIF {
    /// Frames of 128 colours, 0.1 s each.
    static func bytes(_ width: Int, _ height: Int, frames: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SplitMix64(seed: seed)
        let size = [width & 255, width >> 8, height & 255, height >> 8].map { UInt8($0) }
        var file = Array("GIF89a".utf8) + size + [0xF6, 0, 0]
        for _ in 0..<128 * 3 { file.append(UInt8(truncatingIfNeeded: random.next())) }
        for _ in 0..<frames {
            file += [0x21, 0xF9, 4, 0, 10, 0, 0, 0, 0x2C, 0, 0, 0, 0] + size + [0, 7]
            // Cleared each 100 pixels, the table never needs codes of more than 8 bits: each code is a byte.
            var codes: [UInt8] = []
            for pixel in 0..<width * height {
                if pixel % 100 == 0 { codes.append(128) }
                codes.append(UInt8(truncatingIfNeeded: random.next()) & 127)
            }
            codes.append(129)
            for start in stride(from: 0, to: codes.count, by: 255) {
                let part = codes[start..<min(start + 255, codes.count)]
                file += [UInt8(part.count)] + part
            }
            file.append(0)
        }
        return file + [0x3B]
    }
}
