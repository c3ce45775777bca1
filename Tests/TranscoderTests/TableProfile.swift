extension SyntheticImage {
    /// A profile of RGB with a table of two points for each axis instead of curves and a matrix (ICC.1:2010, 10.8), for
    /// the relative intent, or, as `A2B0`, for the perceptual one.
    static func tableProfile(_ tag: String = "A2B1") -> [UInt8] {
        func half(_ values: [Int]) -> [UInt8] { values.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] } }
        let zeros = { (count: Int) in [UInt8](repeating: 0, count: count) }
        let one = big(0x1_0000), none = zeros(4)
        var table = Array("mft2".utf8) + none + [3, 3, 2, 0]
        table += one + none + none + none + one + none + none + none + one
        table += half([2, 2]) + half([0, 65535, 0, 65535, 0, 65535])
        for corner in 0..<8 {
            let (red, green, blue) = (corner >> 2, corner >> 1 & 1, corner & 1)
            // Lightness to 0xFF00 for 100, the other two around 0x8000.
            table += half([
                (red * 30 + green * 55 + blue * 15) * 0xFF00 / 100, 0x8000 + (red - green) * 0x2800,
                0x8000 + (red + green - 2 * blue) * 0x1800,
            ])
        }
        table += half([0, 65535, 0, 65535, 0, 65535])
        var header = big(144 + table.count) + none + [2, 0x40, 0, 0] + Array("mntrRGB Lab ".utf8)
        header += [0x07, 0xEA, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0] + Array("acsp".utf8) + zeros(28)
        header += big(0xF6D6) + big(0x1_0000) + big(0xD32D)
        return header + zeros(128 - header.count) + big(1) + Array(tag.utf8) + big(144) + big(table.count) + table
    }
}
