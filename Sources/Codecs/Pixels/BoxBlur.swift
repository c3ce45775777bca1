/// Three passes of a box filter, close to a Gaussian: vImage's blur, which SDWebImage uses.
enum BoxBlur {
    /// Wider boxes give the same pixels for every image within the limits; sums stay within 64 bits.
    private static let maxWidth = 1 << 24

    /// The box width for a radius in pixels, always odd; radii below 2 count as 2. Source: SDWebImage 5.21.5,
    /// SDImageBlurTransformer.
    static func width(radius: Double) -> Int { width(exactRadius: max(2, radius)) }

    /// The width without that lower bound.
    static func width(exactRadius radius: Double) -> Int {
        let radius = min(max(0, radius), Double(maxWidth) / 4)
        return Int((radius * 3 * (2 * Double.pi).squareRoot() / 4 + 0.5).rounded(.down)) | 1
    }
}

extension Raster {
    /// Blurs three times with a box of `box` × `box` pixels, on premultiplied bytes, rounding after each pass. Edge
    /// pixels are repeated.
    func blur(box: Int) {
        let count = width * height
        for index in 0..<count {
            let alpha = Int(bytes[index * 4 + 3])
            for band in 0..<3 { bytes[index * 4 + band] = Self.scaled(Int(bytes[index * 4 + band]) * alpha, 255) }
        }
        var columns = [Int](repeating: 0, count: width * 4)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count * 4) { copy in
            for _ in 0..<3 {
                _ = copy.update(from: bytes)
                boxPass(from: UnsafeBufferPointer(copy), box: box, &columns)
            }
        }
        for index in 0..<count {
            let alpha = Int(bytes[index * 4 + 3])
            for band in 0..<3 {
                let value = alpha == 0 ? 0 : min(255, (Int(bytes[index * 4 + band]) * 255 + alpha / 2) / alpha)
                bytes[index * 4 + band] = UInt8(value)
            }
        }
    }

    private static func scaled(_ value: Int, _ divisor: Int) -> UInt8 { UInt8((value + divisor / 2) / divisor) }

    /// One pass. Column sums slide down and a window over them slides right, so the time does not depend on the box.
    private func boxPass(from source: UnsafeBufferPointer<UInt8>, box: Int, _ columns: inout [Int]) {
        let reach = box / 2, area = box * box
        for column in 0..<width * 4 {
            columns[column] = Self.firstSum(reach, length: height) { Int(source[$0 * width * 4 + column]) }
        }
        columns.withUnsafeMutableBufferPointer { columns in
            for y in 0..<height {
                for band in 0..<4 {
                    var sum = Self.firstSum(reach, length: width) { columns[$0 * 4 + band] }
                    for x in 0..<width {
                        bytes[(y * width + x) * 4 + band] = Self.scaled(sum, area)
                        let (gone, come) = (max(0, x - reach), min(width - 1, x + reach + 1))
                        sum += columns[come * 4 + band] - columns[gone * 4 + band]
                    }
                }
                let gone = max(0, y - reach) * width * 4, come = min(height - 1, y + reach + 1) * width * 4
                for column in 0..<width * 4 {
                    columns[column] += Int(source[come + column]) - Int(source[gone + column])
                }
            }
        }
    }

    /// The sum of the window around the first of `length` values.
    private static func firstSum(_ reach: Int, length: Int, _ value: (Int) -> Int) -> Int {
        let inside = min(reach, length - 1)
        var sum = value(0) * (reach + 1) + value(length - 1) * (reach - inside)
        for index in 0..<inside { sum += value(index + 1) }
        return sum
    }
}
