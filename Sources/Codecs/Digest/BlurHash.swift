private import Glibc

/// BlurHash, https://blurha.sh: the lowest cosine frequencies of an image in linear light, in about 30 characters.
enum BlurHash {
    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)

    /// The hash of an image on white, with four frequencies along the longer side and three along the shorter one.
    static func text(_ pixels: DigestPixels) -> String {
        let (columns, rows) = pixels.width >= pixels.height ? (4, 3) : (3, 4)
        return text(pixels, columns: columns, rows: rows)
    }

    /// - Parameters:
    ///   - columns: frequencies from left to right, 1…9.
    ///   - rows: frequencies from top to bottom, 1…9.
    static func text(_ pixels: DigestPixels, columns: Int, rows: Int) -> String {
        let waves = waves(pixels, columns: columns, rows: rows)
        let strongest = waves.dropFirst().map { max(abs($0.x), abs($0.y), abs($0.z)) }.max()
        // The strongest frequency in steps of 1/166.
        let step = strongest.map { Int(min(max(($0 * 166 - 0.5).rounded(.down), 0), 82)) } ?? 0
        let scale = strongest == nil ? 1 : Double(step + 1) / 166
        var text = number((columns - 1) + (rows - 1) * 9, digits: 1) + number(step, digits: 1)
        let mean = waves[0]
        text += number((encoded(mean.x) * 256 + encoded(mean.y)) * 256 + encoded(mean.z), digits: 4)
        for wave in waves.dropFirst() {
            func level(_ value: Double) -> Int {
                // Square roots keep the steps of weak frequencies small.
                let part = value / scale, root = (part < 0 ? -1 : 1) * abs(part).squareRoot()
                return Int(min(max((root * 9 + 9.5).rounded(.down), 0), 18))
            }
            text += number((level(wave.x) * 19 + level(wave.y)) * 19 + level(wave.z), digits: 2)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Frequencies of red, green and blue, row by row; the first is the mean.
    private static func waves(_ pixels: DigestPixels, columns: Int, rows: Int) -> [SIMD4<Double>] {
        let transform = CosineTransform(
            linear(pixels), width: pixels.width, height: pixels.height, columns: columns, rows: rows, place: 0)
        let count = Double(pixels.width * pixels.height)
        return transform.sums.indices.map { transform.sums[$0] * (($0 == 0 ? 1.0 : 2.0) / count) }
    }

    /// The linear light of each sRGB value.
    private static let light = (0..<256).map { value in
        let part = Double(value) / 255
        return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
    }

    /// Linear light on white.
    private static func linear(_ pixels: DigestPixels) -> [SIMD4<Double>] {
        let table = light
        return stride(from: 0, to: pixels.bytes.count, by: 4).map { start in
            let alpha = Int(pixels.bytes[start + 3])
            func component(_ index: Int) -> Double {
                table[(Int(pixels.bytes[start + index]) * alpha + 255 * (255 - alpha) + 127) / 255]
            }
            return SIMD4(component(0), component(1), component(2), 0)
        }
    }

    /// 0…255 in sRGB.
    private static func encoded(_ linear: Double) -> Int {
        let value = min(max(linear, 0), 1)
        let curved = value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1 / 2.4) - 0.055
        return Int((curved * 255 + 0.5).rounded(.down))
    }

    /// A number in base 83, highest digit first.
    private static func number(_ value: Int, digits count: Int) -> [UInt8] {
        var rest = value
        var text: [UInt8] = []
        for _ in 0..<count {
            text.append(digits[rest % 83])
            rest /= 83
        }
        return text.reversed()
    }
}
