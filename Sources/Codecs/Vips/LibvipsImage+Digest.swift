private import CVips
internal import ImageModel
internal import Transcoder

extension LibvipsImage {
    /// Larger images are shrunk first.
    private static let maxDigestPixels = 300_000

    /// A digest of the image, which is in memory.
    func digest(_ header: SourceHeader) throws(CodecFailure) -> ImageDigest {
        let box = Variant.Thumbnail(width: 256, height: 256)
        // Do not copy an image that is already in memory.
        let image =
            size.area > Self.maxDigestPixels
            ? try drawn(.scale(Geometry.fitted(size, into: box) ?? size)).inMemory() : try inMemory()
        guard image.isByteRGB, [3, 4].contains(image.bands), let start = larder_pixels(image.pointer) else {
            throw CodecFailure.otherPixels
        }
        let pixels = BytePixels(start: start, bands: image.bands, size: image.size)
        // The image may be stretched, but the digest has the original's shape.
        return try ImageDigest(
            hasAlpha: header.hasAlpha, frames: header.frames, size: header.uprightSize, pixels: pixels.means)
    }
}

/// Pixels in libvips' memory, with or without alpha. A view that must not outlive them.
private struct BytePixels {
    let start: UnsafePointer<UInt8>
    /// 3 or 4.
    let bands: Int
    let size: PixelSize

    /// Means of the boxes into which the image is divided, weighted by alpha. libvips' resampling would take longer to
    /// set up than to run.
    func means(_ boxes: PixelSize) -> DigestPixels {
        func range(_ index: Int, of count: Int, _ length: Int) -> Range<Int> {
            index * length / count..<max((index + 1) * length / count, index * length / count + 1)
        }
        var means: [UInt8] = []
        means.reserveCapacity(boxes.area * 4)
        for y in 0..<boxes.height {
            let rows = range(y, of: boxes.height, size.height)
            for x in 0..<boxes.width {
                let columns = range(x, of: boxes.width, size.width)
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
