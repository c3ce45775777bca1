/// Structural similarity by Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to
/// structural similarity" (2004): the mean over squares of eight pixels, four apart, of luma on a background colour.
struct StructuralSimilarity {
    private let size: (width: Int, height: Int)
    private let reference: [Float]
    private let background: SIMD3<Float>

    /// - Parameters:
    ///   - pixels: red, green, blue, straight alpha, row by row.
    ///   - background: the colour under transparency, 0…255.
    init(
        _ pixels: UnsafeRawBufferPointer, width: Int, height: Int,
        background: SIMD3<Float> = SIMD3(repeating: 255)
    ) {
        size = (width, height)
        self.background = background
        reference = Self.luma(pixels, background)
    }

    /// 1 for equal images; nil for another size.
    func value(_ pixels: UnsafeRawBufferPointer) -> Double? {
        guard pixels.count == reference.count * 4, !reference.isEmpty else { return nil }
        let other = Self.luma(pixels, background)
        let side = (width: min(8, size.width), height: min(8, size.height))
        var sum = 0.0, count = 0.0
        for top in stride(from: 0, through: size.height - side.height, by: 4) {
            for left in stride(from: 0, through: size.width - side.width, by: 4) {
                sum += Double(similarity(other, left, top, side))
                count += 1
            }
        }
        return sum / count
    }

    /// For one square.
    private func similarity(_ other: [Float], _ left: Int, _ top: Int, _ side: (width: Int, height: Int)) -> Float {
        // Sums of both images, of their squares, and of their products.
        var sums = SIMD2<Float>.zero, squares = SIMD2<Float>.zero, products: Float = 0
        for y in top..<top + side.height {
            for index in y * size.width + left..<y * size.width + left + side.width {
                let pair = SIMD2(reference[index], other[index])
                sums += pair
                squares += pair * pair
                products += pair.x * pair.y
            }
        }
        let count = Float(side.width * side.height)
        let means = sums / count, variances = squares / count - means * means
        let covariance = products / count - means.x * means.y
        // The article's constants for values up to 255.
        let (c1, c2): (Float, Float) = (6.5025, 58.5225)
        return (2 * means.x * means.y + c1) * (2 * covariance + c2)
            / (((means * means).sum() + c1) * (variances.sum() + c2))
    }

    private static func luma(_ pixels: UnsafeRawBufferPointer, _ background: SIMD3<Float>) -> [Float] {
        stride(from: 0, to: pixels.count - 3, by: 4).map { start in
            let color = SIMD3(Float(pixels[start]), Float(pixels[start + 1]), Float(pixels[start + 2]))
            let alpha = Float(pixels[start + 3]) / 255
            return ((color * alpha + background * (1 - alpha)) * SIMD3(0.299, 0.587, 0.114)).sum()
        }
    }
}
