/// Chromaticities (CIE 1931 x, y) of an RGB space's primaries and white.
struct ColorPrimaries: Sendable, Hashable {
    struct Chromaticity: Sendable, Hashable {
        var x, y: Double

        /// X, Y, Z at luminance 1.
        var xyz: [Double] { [x / y, 1, (1 - x - y) / y] }

        func isNear(_ other: Chromaticity) -> Bool { abs(x - other.x) < 0.003 && abs(y - other.y) < 0.003 }
    }

    var red, green, blue, white: Chromaticity

    private init(_ red: (Double, Double), _ green: (Double, Double), _ blue: (Double, Double), _ white: Chromaticity) {
        self.red = Chromaticity(x: red.0, y: red.1)
        self.green = Chromaticity(x: green.0, y: green.1)
        self.blue = Chromaticity(x: blue.0, y: blue.1)
        self.white = white
    }

    /// - Parameter numbers: white, red, green, blue, x before y, as in PNG's `cHRM`. Nil unless they span a triangle
    ///   and the white has a luminance.
    init?(whiteRedGreenBlue numbers: [Double]) {
        guard numbers.count == 8 else { return nil }
        let points = (0..<4).map { Chromaticity(x: numbers[2 * $0], y: numbers[2 * $0 + 1]) }
        guard points.allSatisfy({ $0.y > 0.001 }) else { return nil }
        (white, red, green, blue) = (points[0], points[1], points[2], points[3])
        guard let scales = scales, scales.allSatisfy({ $0 > 0 }) else { return nil }
    }

    private static let d65 = Chromaticity(x: 0.3127, y: 0.3290)
    private static let illuminantC = Chromaticity(x: 0.310, y: 0.316)

    static let sRGB = ColorPrimaries((0.640, 0.330), (0.300, 0.600), (0.150, 0.060), d65)
    static let displayP3 = ColorPrimaries((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), d65)
    static let rec2020 = ColorPrimaries((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), d65)

    /// The primaries of a code point in ITU-T H.273, table 2; nil if reserved or unspecified.
    init?(codePoint: Int) {
        switch codePoint {
        case 1: self = .sRGB
        case 4: self.init((0.67, 0.33), (0.21, 0.71), (0.14, 0.08), Self.illuminantC)
        case 5: self.init((0.64, 0.33), (0.29, 0.60), (0.15, 0.06), Self.d65)
        case 6, 7: self.init((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), Self.d65)
        case 8: self.init((0.681, 0.319), (0.243, 0.692), (0.145, 0.049), Self.illuminantC)
        case 9: self = .rec2020
        case 11: self.init((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), Chromaticity(x: 0.314, y: 0.351))
        case 12: self = .displayP3
        case 22: self.init((0.630, 0.340), (0.295, 0.605), (0.155, 0.077), Self.d65)
        default: return nil
        }
    }

    /// Equal within the precision of files.
    func areNear(_ other: ColorPrimaries) -> Bool {
        red.isNear(other.red) && green.isNear(other.green) && blue.isNear(other.blue) && white.isNear(other.white)
    }

    /// Luminances of the primaries that add up to the white; nil unless they span a triangle.
    private var scales: [Double]? {
        Matrix3(columns: [red.xyz, green.xyz, blue.xyz]).inverse?.times(white.xyz)
    }

    /// X, Y, Z of red, green and blue, adapted to D50 by the Bradford method, as in profiles.
    var adaptedColumns: [[Double]]? {
        guard let scales, let adaptation else { return nil }
        return zip([red, green, blue], scales).map { primary, scale in
            adaptation.times(primary.xyz.map { $0 * scale })
        }
    }

    /// From the white to D50.
    var adaptation: Matrix3? {
        let bradford = Matrix3(rows: [0.8951, 0.2664, -0.1614, -0.7502, 1.7135, 0.0367, 0.0389, -0.0685, 1.0296])
        let from = bradford.times(white.xyz), to = bradford.times(Self.d50)
        // All three responses must be positive: near 0 the adaptation grows without limit.
        guard let back = bradford.inverse, from.allSatisfy({ $0 > 0.001 }) else { return nil }
        let scaled = Matrix3(rows: [to[0] / from[0], 0, 0, 0, to[1] / from[1], 0, 0, 0, to[2] / from[2]])
        return back.times(scaled.times(bradford))
    }

    /// The white of profiles (ICC.1:2010, 7.2.16).
    static let d50 = [0.9642, 1, 0.8249]
}

struct Matrix3: Sendable, Hashable {
    let rows: [Double]

    init(rows: [Double]) { self.rows = rows }

    init(columns: [[Double]]) { rows = (0..<9).map { columns[$0 % 3][$0 / 3] } }

    func times(_ vector: [Double]) -> [Double] {
        (0..<3).map { row in (0..<3).reduce(0) { $0 + rows[3 * row + $1] * vector[$1] } }
    }

    func times(_ other: Matrix3) -> Matrix3 {
        Matrix3(columns: (0..<3).map { column in times((0..<3).map { other.rows[3 * $0 + column] }) })
    }

    /// Nil if the determinant is near 0.
    var inverse: Matrix3? {
        func minor(_ row: Int, _ column: Int) -> Double {
            let (r1, r2) = ((row + 1) % 3, (row + 2) % 3), (c1, c2) = ((column + 1) % 3, (column + 2) % 3)
            return rows[3 * r1 + c1] * rows[3 * r2 + c2] - rows[3 * r1 + c2] * rows[3 * r2 + c1]
        }
        let determinant = (0..<3).reduce(0) { $0 + rows[$1] * minor(0, $1) }
        guard abs(determinant) > 1e-6 else { return nil }
        return Matrix3(rows: (0..<9).map { minor($0 % 3, $0 / 3) / determinant })
    }
}
