private import ImageModel

/// The colour chunks of a PNG.
enum PNGColor {
    /// `cICP` precedes `iCCP`, `sRGB`, and `gAMA` with `cHRM` (PNG, third edition, 4.3).
    @Sendable static func read(_ bytes: UnsafeRawBufferPointer) -> ColorDescription.Source? {
        var gamma: Double?, primaries: ColorPrimaries?, isNamed = false, codePoints: (Int, Int)?
        PNGChunks.scan(bytes) { type, length, end in
            guard end <= bytes.count else { return false }
            let data = type + 4
            func numbers(_ count: Int) -> [Double] {
                (0..<count).compactMap { bytes.bigEndian(at: data + 4 * $0).map { Double($0) / 100_000 } }
            }
            if bytes.has("cICP", at: type), length == 4 {
                codePoints = (Int(bytes[data]), Int(bytes[data + 1]))
            } else if bytes.has("iCCP", at: type) || bytes.has("sRGB", at: type) {
                isNamed = true
            } else if bytes.has("gAMA", at: type), length == 4 {
                gamma = numbers(1).first
            } else if bytes.has("cHRM", at: type), length == 32 {
                primaries = ColorPrimaries(whiteRedGreenBlue: numbers(8))
            }
            return !bytes.has("IDAT", at: type)
        }
        if let codePoints {
            return ColorDescription.Source(
                description: ColorDescription(primaries: codePoints.0, transfer: codePoints.1), isBeforeProfile: true)
        }
        // `cHRM` without `gAMA` does not define a value.
        guard !isNamed, let gamma, (0.1...10).contains(gamma) else { return nil }
        // 1/2.2, as programs write it, means sRGB.
        let isUsual = abs(gamma * 2.2 - 1) < 0.05
        return ColorDescription.Source(
            description: ColorDescription(
                primaries: primaries ?? .sRGB, transfer: isUsual ? .sRGB : .gamma(1 / gamma)))
    }
}
