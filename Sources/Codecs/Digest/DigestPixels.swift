private import Glibc
internal import ImageModel

/// A small image as RGBA bytes with straight alpha.
struct DigestPixels: Sendable {
    let width, height: Int
    let bytes: [UInt8]

    /// - Parameter bytes: exactly four per pixel, row by row; at most 65,535 pixels.
    init(width: Int, height: Int, bytes: [UInt8]) {
        precondition(bytes.count == width * height * 4 && bytes.count < 4 << 16, "four bytes a pixel of a small image")
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    /// The mean of all pixels, weighted by alpha.
    var averageColor: String {
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

    /// The mean of the fullest of 4,096 colour boxes, over pixels with alpha of at least a half.
    var dominantColor: String {
        var counts = [UInt16](repeating: 0, count: 4096)
        let boxes = stride(from: 0, to: bytes.count, by: 4).map { start -> Int? in
            guard bytes[start + 3] >= 128 else { return nil }
            return Int(bytes[start] >> 4) << 8 | Int(bytes[start + 1] & 0xf0) | Int(bytes[start + 2] >> 4)
        }
        for case let box? in boxes { counts[box] += 1 }
        guard let most = counts.max(), most > 0, let fullest = counts.firstIndex(of: most) else { return "#00000000" }
        var sum = SIMD3<Int>.zero
        for (pixel, box) in boxes.enumerated() where box == fullest {
            sum &+= SIMD3(Int(bytes[pixel * 4]), Int(bytes[pixel * 4 + 1]), Int(bytes[pixel * 4 + 2]))
        }
        return Self.text(255, (0..<3).map { (sum[$0] + Int(most) / 2) / Int(most) })
    }

    /// Signs of the 8 × 8 lowest luma frequencies against their median.
    var perceptualHash: String {
        let luma = stride(from: 0, to: bytes.count, by: 4).map { start in
            let weighted: Double = 0.299 * Double(bytes[start]) + 0.587 * Double(bytes[start + 1])
            let grey: Double = weighted + 0.114 * Double(bytes[start + 2])
            return SIMD4(grey * Double(bytes[start + 3]) / 255, 0, 0, 0)
        }
        let transform = CosineTransform(luma, width: width, height: height, columns: 8, rows: 8, place: 0.5)
        let frequencies = transform.sums.map(\.x)
        let median = frequencies.dropFirst().sorted()[31]
        var bits: UInt64 = 0
        for frequency in frequencies { bits = bits << 1 | (frequency > median ? 1 : 0) }
        return bits.hexadecimal(digits: 16)
    }

    private static func text(_ alpha: Int, _ color: [Int]) -> String {
        "#" + ([alpha] + color).map { $0.hexadecimal(digits: 2) }.joined()
    }
}

extension ImageDigest {
    /// In pixels: the longer side of the image for colours and ThumbHash, and both sides of the square for the
    /// perceptual hash.
    static let side = 32

    /// The size of the image for colours and ThumbHash.
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

/// An image's lowest cosine frequencies, for four values of each pixel at once.
struct CosineTransform {
    /// Frequencies from left to right.
    private let columns: Int
    /// For each pair of frequencies, row by row, the sum over all pixels of the values times both cosines.
    let sums: [SIMD4<Double>]

    /// - Parameters:
    ///   - values: row by row.
    ///   - columns, rows: frequencies from left to right and from top to bottom.
    ///   - place: where in a pixel the cosines are taken, 0 for its edge and 0.5 for its middle.
    init(_ values: [SIMD4<Double>], width: Int, height: Int, columns: Int, rows: Int, place: Double) {
        let across = Self.cosines(columns, of: width, place), down = Self.cosines(rows, of: height, place)
        var sums = [SIMD4<Double>](repeating: .zero, count: columns * rows)
        for y in 0..<height {
            for column in 0..<columns {
                var sum = SIMD4<Double>.zero
                for x in 0..<width { sum += values[y * width + x] * across[column * width + x] }
                for row in 0..<rows { sums[row * columns + column] += sum * down[row * height + y] }
            }
        }
        self.columns = columns
        self.sums = sums
    }

    subscript(column: Int, row: Int) -> SIMD4<Double> { sums[row * columns + column] }

    private static func cosines(_ frequencies: Int, of length: Int, _ place: Double) -> [Double] {
        (0..<frequencies * length).map { index in
            let turn = Double.pi / Double(length) * Double(index / length)
            return cos(turn * (Double(index % length) + place))
        }
    }
}
