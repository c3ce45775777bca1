extension Raster {
    /// Draws straight RGBA pixels over a rectangle, which lies within the image.
    ///
    /// - Parameter opacity: 0…1, by which their alpha is multiplied.
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
