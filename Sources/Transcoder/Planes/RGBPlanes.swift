private import CPlanes
internal import ImageModel

extension PlanarPicture {
    /// Room for a sample of each plane for every pixel; of a grey picture, for luma alone. The samples are anything.
    ///
    /// - Throws: `PlaneFailure` when there is no memory.
    init(roomFor size: PixelSize, isGrey: Bool) throws(PlaneFailure) {
        func room() throws(PlaneFailure) -> SamplePlane {
            try SamplePlane(
                width: size.width, height: size.height, across: Double(size.width), down: Double(size.height))
        }
        self.init(
            size: size, luma: try room(), blue: isGrey ? try .neutral() : try room(),
            red: isGrey ? try .neutral() : try room())
    }

    /// Fills row `y` from its pixels' red, green and blue; only the picture's maker may.
    func fill(row y: Int, rgb: UnsafePointer<UInt8>) {
        larder_rgb_row(
            rgb, size.width, luma.start + y * luma.stride, blue.start + y * blue.stride, red.start + y * red.stride)
    }

    /// Luma, blue and red of pixels given as red, green, blue: what `fill` puts into a row.
    package static func samples(rgb pixels: [UInt8]) -> [[UInt8]] {
        var luma = [UInt8](repeating: 0, count: pixels.count / 3), blue = luma, red = luma
        larder_rgb_row(pixels, luma.count, &luma, &blue, &red)
        return [luma, blue, red]
    }
}
