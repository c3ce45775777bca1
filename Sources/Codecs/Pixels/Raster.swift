internal import ImageModel

/// 8-bit RGBA pixels with straight alpha, changed in place. Does not own the memory.
struct Raster {
    /// Red, green, blue, alpha, row by row.
    let bytes: UnsafeMutableBufferPointer<UInt8>
    let width, height: Int

    /// - Parameter bytes: exactly four per pixel.
    init(_ bytes: UnsafeMutableBufferPointer<UInt8>, width: Int, height: Int) {
        precondition(bytes.count == width * height * 4, "a raster has four bytes a pixel")
        self.bytes = bytes
        self.width = width
        self.height = height
    }

    /// Components of one pixel, 0…1, premultiplied, alpha last.
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

    /// Stores a pixel as rounded straight components; transparent ones as zeros.
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

/// Colours under transparency, for filters that ignore alpha.
extension Raster {
    /// Mixes colours of neighbours into pixels that are more transparent, so that the outline of opaque areas has no
    /// edge.
    ///
    /// - Parameter blurred: straight pixels of the same image, blurred premultiplied.
    func fillTransparency(from blurred: UnsafePointer<UInt8>) {
        for start in stride(from: 0, to: bytes.count, by: 4) {
            let alpha = Int(bytes[start + 3]), around = Int(blurred[start + 3])
            guard alpha < around else { continue }
            for band in start..<start + 3 {
                let mixed = Int(bytes[band]) * alpha + Int(blurred[band]) * (around - alpha)
                bytes[band] = UInt8((mixed + around / 2) / around)
            }
        }
    }

    /// Applies a filter's changes of the filled colours, which are here, to the image's own colours; transparent pixels
    /// become zeros.
    ///
    /// - Parameters:
    ///   - own: the pixels before filling.
    ///   - filled: the pixels before the filter.
    func restoreColors(_ own: UnsafePointer<UInt8>, filled: UnsafePointer<UInt8>) {
        for start in stride(from: 0, to: bytes.count, by: 4) {
            guard bytes[start + 3] > 0 else {
                store(0, 0, 0, 0, start / 4)
                continue
            }
            for band in start..<start + 3 {
                bytes[band] = UInt8(min(max(Int(bytes[band]) + Int(own[band]) - Int(filled[band]), 0), 255))
            }
        }
    }

    /// Draws straight RGBA pixels over a rectangle within the image.
    ///
    /// - Parameter opacity: 0…1, multiplies their alpha.
    func draw(_ pixels: UnsafeRawBufferPointer, _ place: PixelRect, opacity: Double) {
        for y in 0..<place.height {
            for x in 0..<place.width {
                let start = (y * place.width + x) * 4, index = (place.y + y) * width + place.x + x
                let alpha = Float(pixels[start + 3]) / 255 * Float(opacity)
                guard alpha > 0 else { continue }
                let color = Pixel(Float(pixels[start]), Float(pixels[start + 1]), Float(pixels[start + 2]), 255)
                store(premultiplied: color / 255 * alpha + premultiplied(index) * (1 - alpha), index)
            }
        }
    }
}
