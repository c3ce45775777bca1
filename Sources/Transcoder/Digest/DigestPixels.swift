private import Glibc
internal import ImageModel

/// A small image as RGBA bytes with straight alpha.
package struct DigestPixels: Sendable {
    let width, height: Int
    let bytes: [UInt8]

    /// - Parameter bytes: exactly four for each pixel, row by row.
    package init(width: Int, height: Int, bytes: [UInt8]) {
        precondition(bytes.count == width * height * 4, "four bytes a pixel")
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    /// The mean of all pixels, each colour weighted by its alpha.
    package var averageColor: String {
        var sum = SIMD4<Int>.zero
        for start in stride(from: 0, to: bytes.count, by: 4) {
            let alpha = Int(bytes[start + 3])
            sum &+= SIMD4(
                Int(bytes[start]) * alpha, Int(bytes[start + 1]) * alpha, Int(bytes[start + 2]) * alpha, alpha)
        }
        guard sum.w > 0 else { return "#00000000" }
        let count = width * height
        return Self.text((sum.w + count / 2) / count, (0..<3).map { (sum[$0] + sum.w / 2) / sum.w })
    }

    /// The mean of the fullest of 4,096 boxes of colours, over pixels with alpha of at least a half.
    package var dominantColor: String {
        var boxes = [SIMD4<Int>](repeating: .zero, count: 4096)
        for start in stride(from: 0, to: bytes.count, by: 4) where bytes[start + 3] >= 128 {
            let (red, green, blue) = (Int(bytes[start]), Int(bytes[start + 1]), Int(bytes[start + 2]))
            let box = (red / 16 * 16 + green / 16) * 16 + blue / 16
            boxes[box] &+= SIMD4(red, green, blue, 1)
        }
        guard let fullest = boxes.max(by: { $0.w < $1.w }), fullest.w > 0 else { return "#00000000" }
        return Self.text(255, (0..<3).map { (fullest[$0] + fullest.w / 2) / fullest.w })
    }

    /// The signs of the 8 × 8 lowest frequencies of luma against their median.
    package var perceptualHash: String {
        var luma: [Double] = []
        for start in stride(from: 0, to: bytes.count, by: 4) {
            let weighted: Double = 0.299 * Double(bytes[start]) + 0.587 * Double(bytes[start + 1])
            let grey: Double = weighted + 0.114 * Double(bytes[start + 2])
            luma.append(grey * Double(bytes[start + 3]) / 255)
        }
        let columns = Self.cosines(width), rows = Self.cosines(height)
        var frequencies = [Double](repeating: 0, count: 64)
        for y in 0..<height {
            for u in 0..<8 {
                var row = 0.0
                for x in 0..<width { row += luma[y * width + x] * columns[u * width + x] }
                for v in 0..<8 { frequencies[v * 8 + u] += row * rows[v * height + y] }
            }
        }
        let median = frequencies.dropFirst().sorted()[31]
        var bits: UInt64 = 0
        for frequency in frequencies { bits = bits << 1 | (frequency > median ? 1 : 0) }
        return bits.hexadecimal(digits: 16)
    }

    private static func cosines(_ count: Int) -> [Double] {
        (0..<8 * count).map { index in
            let wave = Double(index / count), place = Double(index % count) + 0.5
            return cos(Double.pi / Double(count) * wave * place)
        }
    }

    private static func text(_ alpha: Int, _ color: [Int]) -> String {
        "#" + ([alpha] + color).map { $0.hexadecimal(digits: 2) }.joined()
    }
}

extension ImageDigest {
    /// The longer side of the image that the colours and the ThumbHash are made from, in pixels, and both sides of the
    /// square for the perceptual hash.
    static let side = 32

    /// The size of the image for the colours and the ThumbHash.
    static func smallSize(of size: PixelSize) -> PixelSize {
        Geometry.fitted(size, into: Variant.Thumbnail(width: Double(side), height: Double(side))) ?? size
    }

    /// - Parameter pixels: the image stretched to a size.
    init(
        hasAlpha: Bool, frames: Int, size: PixelSize, pixels: (PixelSize) throws(CodecFailure) -> DigestPixels
    ) throws(CodecFailure) {
        let small = try pixels(Self.smallSize(of: size))
        let square = try pixels(PixelSize(width: Self.side, height: Self.side))
        self.init(
            thumbHash: ThumbHash.base64(small), blurHash: BlurHash.text(small), averageColor: small.averageColor,
            dominantColor: small.dominantColor, perceptualHash: square.perceptualHash, hasAlpha: hasAlpha,
            frames: frames)
    }
}
