private import CVips

/// Makes a digest of a picture in memory.
struct VipsDigester {
    /// The longer side of what is looked at, and both of the square.
    static let side = 32

    let source: SharedPicture?

    /// Pictures of more pixels are made smaller before they are looked at.
    private static let mostPixels = 300_000

    func digest(_ header: SourceHeader) throws(VipsFailure) -> PictureDigest? {
        guard let source else { return nil }
        let size = source.picture.size
        let near = size.area > Self.mostPixels ? try source.picture.drawn(.scale(Self.fit(size, 256))) : nil
        var digest: PictureDigest?
        // Means of boxes, as each resampling by libvips takes longer to set up than to run.
        func look(_ raster: Raster) {
            digest = PictureDigest(
                header, small: raster.means(Self.fit(size, Self.side)),
                square: raster.means(PixelSize(width: Self.side, height: Self.side)))
        }
        switch near {
        case .some(let near): _ = try near.redrawn(look)
        case nil: _ = try source.picture.redrawn(look)
        }
        return digest
    }

    /// The size of a picture shrunk into a square.
    private static func fit(_ size: PixelSize, _ side: Int) -> PixelSize {
        Geometry.thumbnail(stored: size, box: Variant.Thumbnail(width: Double(side), height: Double(side))) ?? size
    }
}

extension Raster {
    /// The mean of each of the boxes that `size` divides the picture into, each colour weighed by its alpha.
    fileprivate func means(_ size: PixelSize) -> DigestPixels {
        func span(_ index: Int, of count: Int, _ length: Int) -> Range<Int> {
            index * length / count..<max((index + 1) * length / count, index * length / count + 1)
        }
        var means: [UInt8] = []
        means.reserveCapacity(size.area * 4)
        for y in 0..<size.height {
            let rows = span(y, of: size.height, height)
            for x in 0..<size.width {
                let columns = span(x, of: size.width, width)
                var sum = SIMD4<UInt32>.zero, opacity: UInt32 = 0
                for row in rows {
                    for column in columns {
                        let start = (row * width + column) * 4
                        let alpha = UInt32(bytes[start + 3])
                        let color = SIMD4(UInt32(bytes[start]), UInt32(bytes[start + 1]), UInt32(bytes[start + 2]), 1)
                        sum &+= color &* alpha
                        opacity &+= alpha
                    }
                }
                let pixels = UInt32(rows.count * columns.count)
                for band in 0..<3 { means.append(opacity > 0 ? UInt8((sum[band] + opacity / 2) / opacity) : 0) }
                means.append(UInt8((opacity + pixels / 2) / pixels))
            }
        }
        return DigestPixels(width: size.width, height: size.height, bytes: means)
    }
}
