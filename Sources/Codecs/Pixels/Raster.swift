internal import ImageModel

/// 8-bit RGBA pixels with straight alpha, changed in place. A view, which does not own the memory.
struct Raster {
    /// Red, green, blue, alpha of each pixel, row by row.
    let bytes: UnsafeMutableBufferPointer<UInt8>
    let width, height: Int

    /// - Parameter bytes: exactly four for each pixel.
    init(_ bytes: UnsafeMutableBufferPointer<UInt8>, width: Int, height: Int) {
        precondition(bytes.count == width * height * 4, "a raster has four bytes a pixel")
        self.bytes = bytes
        self.width = width
        self.height = height
    }

    /// The components of one pixel, 0…1, premultiplied; the last is alpha.
    typealias Pixel = SIMD4<Float>

    static func premultiplied(_ color: Color) -> Pixel {
        Pixel(Float(color.red), Float(color.green), Float(color.blue), 1) * Float(color.alpha)
    }

    func premultiplied(_ index: Int) -> Pixel {
        let start = index * 4
        let straight = Pixel(
            Float(bytes[start]), Float(bytes[start + 1]), Float(bytes[start + 2]), Float(bytes[start + 3]))
        let unit = straight / 255
        var result = unit * unit.w
        result.w = unit.w
        return result
    }

    /// Stores a pixel, rounded to the nearest straight one; a transparent one is stored as zeros.
    func store(premultiplied pixel: Pixel, _ index: Int) {
        let alpha = pixel.w
        guard alpha > 0 else {
            store(0, 0, 0, 0, index)
            return
        }
        let unit = (pixel / alpha * 255).rounded(.toNearestOrAwayFromZero).clamped(
            lowerBound: .zero, upperBound: .init(repeating: 255))
        let opacity = min(255, (alpha * 255).rounded(.toNearestOrAwayFromZero))
        store(UInt8(unit.x), UInt8(unit.y), UInt8(unit.z), UInt8(opacity), index)
    }

    func store(_ red: UInt8, _ green: UInt8, _ blue: UInt8, _ alpha: UInt8, _ index: Int) {
        let start = index * 4
        bytes[start] = red
        bytes[start + 1] = green
        bytes[start + 2] = blue
        bytes[start + 3] = alpha
    }
}
