private import FoundationEssentials

/// Evan Wallace's ThumbHash: a blurred thumbnail in about 25 bytes, with aspect ratio and transparency.
enum ThumbHash {
    static func base64(_ pixels: DigestPixels) -> String { Data(hash(pixels)).base64EncodedString() }

    /// - Parameter pixels: at most 100 × 100.
    static func hash(_ pixels: DigestPixels) -> [UInt8] {
        let (width, height, count) = (pixels.width, pixels.height, pixels.width * pixels.height)
        var colors: [SIMD4<Double>] = []
        for start in stride(from: 0, to: count * 4, by: 4) {
            let (red, green) = (Double(pixels.bytes[start]), Double(pixels.bytes[start + 1]))
            let (blue, alpha) = (Double(pixels.bytes[start + 2]), Double(pixels.bytes[start + 3]))
            colors.append(SIMD4<Double>(red, green, blue, alpha) / 255)
        }
        var opacity = 0.0
        var sum = SIMD4<Double>.zero
        for color in colors {
            opacity += color.w
            sum += color * color.w
        }
        let average = opacity > 0 ? sum / opacity : .zero
        let hasAlpha = opacity < Double(count)
        // Transparent pixels take the average colour.
        for index in 0..<count {
            let alpha = colors[index].w
            colors[index] = average * (1 - alpha) + colors[index] * alpha
            colors[index].w = alpha
        }
        let longest = Double(max(width, height)), limit = hasAlpha ? 5.0 : 7.0
        let columns = max(1, Int((limit * Double(width) / longest).rounded()))
        let rows = max(1, Int((limit * Double(height) / longest).rounded()))
        let channels = colors.map { color in
            SIMD4(
                (color.x + color.y + color.z) / 3, (color.x + color.y) / 2 - color.z, color.x - color.y, color.w)
        }
        let transform = CosineTransform(
            channels, width: width, height: height, columns: max(5, columns), rows: max(5, rows), place: 0.5)
        func channel(_ index: Int, _ columns: Int, _ rows: Int) -> Channel {
            Channel(columns: columns, rows: rows) { transform[$0, $1][index] / Double(count) }
        }
        let luminance = channel(0, max(3, columns), max(3, rows))
        let yellowBlue = channel(1, 3, 3), redGreen = channel(2, 3, 3)
        let alpha = hasAlpha ? channel(3, 5, 5) : nil

        let isWide = width > height
        var bits = BitFields()
        bits.append(63 * luminance.mean, 6)
        bits.append(31.5 + 31.5 * yellowBlue.mean, 6)
        bits.append(31.5 + 31.5 * redGreen.mean, 6)
        bits.append(31 * luminance.scale, 5)
        bits.append(hasAlpha ? 1 : 0, 1)
        bits.append(Double(isWide ? rows : columns), 3)
        bits.append(63 * yellowBlue.scale, 6)
        bits.append(63 * redGreen.scale, 6)
        bits.append(isWide ? 1 : 0, 1)
        if let alpha {
            bits.append(15 * alpha.mean, 4)
            bits.append(15 * alpha.scale, 4)
        }
        for channel in [luminance, yellowBlue, redGreen] + (alpha.map { [$0] } ?? []) {
            for wave in channel.waves { bits.append(15 * wave, 4) }
        }
        return bits.bytes
    }

    /// Numbers of a few bits, packed lowest bit first.
    private struct BitFields {
        private(set) var bytes: [UInt8] = []
        private var count = 0

        /// Appends a number, rounded and clamped to `width` bits.
        mutating func append(_ value: Double, _ width: Int) {
            let number = max(0, min(Int(value.rounded(.toNearestOrAwayFromZero)), (1 << width) - 1))
            for bit in 0..<width {
                if count % 8 == 0 { bytes.append(0) }
                if number >> bit & 1 == 1 { bytes[bytes.count - 1] |= 1 << UInt8(count % 8) }
                count += 1
            }
        }
    }

    /// One channel as its mean and its lowest cosine frequencies, scaled by the strongest to 0…1.
    private struct Channel {
        var mean = 0.0
        var scale = 0.0
        var waves: [Double] = []

        /// - Parameter frequency: the frequency of a column and row.
        init(columns: Int, rows: Int, _ frequency: (Int, Int) -> Double) {
            for row in 0..<rows {
                var column = 0
                while column * rows < columns * (rows - row) {
                    let wave = frequency(column, row)
                    if row == 0 && column == 0 {
                        mean = wave
                    } else {
                        waves.append(wave)
                        scale = max(scale, abs(wave))
                    }
                    column += 1
                }
            }
            if scale > 0 { waves = waves.map { 0.5 + 0.5 / scale * $0 } }
        }
    }
}
