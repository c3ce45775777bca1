private import Glibc

/// The lowest frequencies of an image by cosines, of four values of each pixel at once.
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
