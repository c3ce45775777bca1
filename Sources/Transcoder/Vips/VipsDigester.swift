private import CVips
internal import ImageModel

/// Makes a digest of a picture in memory.
struct VipsDigester {
    /// The longer side of what is looked at, and both of the square.
    static let side = 32

    let source: SharedPicture?

    /// Pictures of more pixels are made smaller before they are looked at.
    private static let mostPixels = 300_000

    func digest(_ header: SourceHeader) throws(VipsFailure) -> ImageDigest? {
        guard let source else { return nil }
        let size = source.picture.size
        // What is in memory already is not copied.
        let near =
            size.area > Self.mostPixels
            ? try source.picture.drawn(.scale(Self.fit(size, 256))).inMemory() : try source.picture.inMemory()
        guard near.isByteRGB, [3, 4].contains(near.bands), let start = larder_pixels(near.image) else {
            throw VipsFailure()
        }
        let pixels = BytePixels(start: start, bands: near.bands, size: near.size)
        // Means of boxes, as each resampling by libvips takes longer to set up than to run.
        return ImageDigest(
            header, small: pixels.means(Self.fit(size, Self.side)),
            square: pixels.means(PixelSize(width: Self.side, height: Self.side)))
    }

    /// The size of a picture shrunk into a square.
    private static func fit(_ size: PixelSize, _ side: Int) -> PixelSize {
        Geometry.thumbnail(stored: size, box: Variant.Thumbnail(width: Double(side), height: Double(side))) ?? size
    }
}

/// Pixels in libvips' memory, with or without alpha. A view: they outlive it.
private struct BytePixels {
    let start: UnsafePointer<UInt8>
    /// 3 or 4.
    let bands: Int
    let size: PixelSize

    /// The mean of each of the boxes the picture is divided into, so many across and down, each colour weighed by its alpha.
    func means(_ boxes: PixelSize) -> DigestPixels {
        func span(_ index: Int, of count: Int, _ length: Int) -> Range<Int> {
            index * length / count..<max((index + 1) * length / count, index * length / count + 1)
        }
        var means: [UInt8] = []
        means.reserveCapacity(boxes.area * 4)
        for y in 0..<boxes.height {
            let rows = span(y, of: boxes.height, size.height)
            for x in 0..<boxes.width {
                let columns = span(x, of: boxes.width, size.width)
                var sum = SIMD4<UInt32>.zero, opacity: UInt32 = 0
                for row in rows {
                    for column in columns {
                        let pixel = start + (row * size.width + column) * bands
                        let alpha = bands == 4 ? UInt32(pixel[3]) : 255
                        let color = SIMD4(UInt32(pixel[0]), UInt32(pixel[1]), UInt32(pixel[2]), 1)
                        sum &+= color &* alpha
                        opacity &+= alpha
                    }
                }
                let pixels = UInt32(rows.count * columns.count)
                for band in 0..<3 { means.append(opacity > 0 ? UInt8((sum[band] + opacity / 2) / opacity) : 0) }
                means.append(UInt8((opacity + pixels / 2) / pixels))
            }
        }
        return DigestPixels(width: boxes.width, height: boxes.height, bytes: means)
    }
}
