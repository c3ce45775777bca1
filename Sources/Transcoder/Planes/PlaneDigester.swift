internal import ImageModel

/// Makes a digest of planes.
struct PlaneDigester {
    let source: PlanarPicture

    func digest(_ header: SourceHeader) throws(PlaneFailure) -> ImageDigest {
        let side = VipsDigester.side
        let box = Variant.Thumbnail(width: Double(side), height: Double(side))
        let size = Geometry.thumbnail(stored: source.size, box: box) ?? source.size
        return ImageDigest(
            header, small: try source.pixels(size), square: try source.pixels(PixelSize(width: side, height: side)))
    }
}

extension PlanarPicture {
    /// The picture stretched to a small size, in sRGB.
    fileprivate func pixels(_ size: PixelSize) throws(PlaneFailure) -> DigestPixels {
        let small = try drawn(PlaneView(whole: size), chroma: .full)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size.area * 4)
        for y in 0..<size.height {
            for x in 0..<size.width {
                func sample(_ plane: SamplePlane) -> Float { Float(plane.start[y * plane.stride + x]) }
                let (luma, blue, red) = (sample(small.luma), sample(small.blue) - 128, sample(small.red) - 128)
                // JFIF 1.02's matrix.
                let green = luma - 0.344136 * blue - 0.714136 * red
                for value in [luma + 1.402 * red, green, luma + 1.772 * blue] {
                    bytes.append(UInt8(min(max(value.rounded(), 0), 255)))
                }
                bytes.append(255)
            }
        }
        return DigestPixels(width: size.width, height: size.height, bytes: bytes)
    }
}
