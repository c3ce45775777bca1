private import CPlanes
private import ImageModel

/// A profile of three curves and a matrix, such as Display P3 or Adobe RGB, or of one grey curve, and its conversion to
/// sRGB: relative colorimetric, clipped to sRGB's range.
struct MatrixProfile: Sendable, Hashable {
    /// The linear value of each byte: red, green, blue.
    private let curves: [Float]
    /// From linear to sRGB's linear components, by rows; the identity for grey.
    private let matrix: [Float]

    /// Nil for a profile with colour tables, another space, or an undefined curve.
    init?(_ profile: [UInt8]) {
        guard let space = ICCProfile.space(profile), profile.has("XYZ ", at: 20), profile.has("acsp", at: 36),
            ["A2B0", "A2B1", "A2B2"].allSatisfy({ ICCProfile.tag($0, in: profile) == nil })
        else { return nil }
        if space == "GRAY" {
            guard let offset = ICCProfile.tag("kTRC", in: profile), let values = Self.curve(profile, at: offset) else {
                return nil
            }
            (curves, matrix) = (values + values + values, [1, 0, 0, 0, 1, 0, 0, 0, 1])
            return
        }
        guard space == "RGB ",
            let toLinear = ColorPrimaries.sRGB.adaptedColumns.flatMap({ Matrix3(columns: $0).inverse })
        else { return nil }
        let names: [(StaticString, StaticString)] = [("rXYZ", "rTRC"), ("gXYZ", "gTRC"), ("bXYZ", "bTRC")]
        var columns: [[Double]] = [], curves: [Float] = []
        for (primary, curve) in names {
            guard let start = ICCProfile.tag(primary, in: profile), profile.has("XYZ ", at: start),
                let column = ICCProfile.numbers(3, in: profile, at: start + 8),
                let offset = ICCProfile.tag(curve, in: profile), let values = Self.curve(profile, at: offset)
            else { return nil }
            columns.append(column)
            curves += values
        }
        self.curves = curves
        matrix = toLinear.times(Matrix3(columns: columns)).rows.map(Float.init)
        guard matrix.allSatisfy(\.isFinite) else { return nil }
    }

    /// The linear value, 0...1, of each byte (ICC.1:2010, 10.5 and 10.15).
    private static func curve(_ profile: [UInt8], at offset: Int) -> [Float]? {
        let linear: (Double) -> Double
        if profile.has("para", at: offset) {
            guard let kind = profile.bigEndian(at: offset + 8, length: 2), (0...4).contains(kind),
                let p = ICCProfile.numbers([1, 3, 4, 5, 7][kind], in: profile, at: offset + 12), p[0] > 0
            else { return nil }
            linear = { parametric(kind, p, $0) }
        } else if profile.has("curv", at: offset), let count = profile.bigEndian(at: offset + 8), count <= 65536 {
            let words = (0..<count).compactMap { profile.bigEndian(at: offset + 12 + 2 * $0, length: 2) }
            guard words.count == count else { return nil }
            linear = { table(words, $0) }
        } else {
            return nil
        }
        let values = (0...255).map { Float(linear(Double($0) / 255)) }
        return values.allSatisfy(\.isFinite) ? values.map { min(max($0, 0), 1) } : nil
    }

    private static func parametric(_ kind: Int, _ p: [Double], _ x: Double) -> Double {
        func power(_ a: Double, _ b: Double) -> Double { LinearLight.power(max(0, a * x + b), p[0]) }
        switch kind {
        case 0: return LinearLight.power(x, p[0])
        case 1: return p[1] * x + p[2] >= 0 ? power(p[1], p[2]) : 0
        case 2: return p[1] * x + p[2] >= 0 ? power(p[1], p[2]) + p[3] : p[3]
        case 3: return x >= p[4] ? power(p[1], p[2]) : p[3] * x
        default: return x >= p[4] ? power(p[1], p[2]) + p[5] : p[3] * x + p[6]
        }
    }

    /// Interpolates in the table. Without entries it is the identity; one entry is an exponent in 256ths.
    private static func table(_ words: [Int], _ x: Double) -> Double {
        guard words.count > 1 else { return words.first.map { LinearLight.power(x, Double($0) / 256) } ?? x }
        let place = x * Double(words.count - 1), index = min(Int(place), words.count - 2)
        let low = Double(words[index]), high = Double(words[index + 1])
        return (low + (high - low) * (place - Double(index))) / 65535
    }

    /// Converts an image to sRGB, changing its colour planes. Luma alone is converted as grey.
    func converted(_ image: PlanarImage) throws(CodecFailure) -> PlanarImage {
        guard image.model != .grey else {
            image.colors[0].map(curves[..<256].map(LinearLight.byte), into: image.colors[0])
            image.colors[0].padEdges()
            return image
        }
        let image = try image.inRGB(), planes = image.colors
        curves.withUnsafeBufferPointer { curves in
            matrix.withUnsafeBufferPointer { matrix in
                LinearLight.encodedBytes.withUnsafeBufferPointer { bytes in
                    guard let curves = curves.baseAddress, let matrix = matrix.baseAddress else { return }
                    for y in 0..<image.size.height {
                        larder_convert_colors(
                            planes[0].row(y), planes[1].row(y), planes[2].row(y), image.size.width, curves, matrix,
                            bytes.baseAddress)
                    }
                }
            }
        }
        for plane in planes { plane.padEdges() }
        return image
    }
}
