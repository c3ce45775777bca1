private import CVips

/// Makes a digest of a picture in memory.
struct VipsDigester {
    /// The longer side of what is looked at, and both of the square.
    static let side = 32

    let source: SharedPicture?

    func digest(_ header: SourceHeader) throws(VipsFailure) -> PictureDigest? {
        guard let source else { return nil }
        let box = Variant.Thumbnail(width: Double(Self.side), height: Double(Self.side))
        let size = Geometry.thumbnail(stored: source.picture.size, box: box) ?? source.picture.size
        let small = try source.picture.drawn(.scale(size)).digestPixels()
        let square = try source.picture.drawn(.scale(PixelSize(width: Self.side, height: Self.side))).digestPixels()
        return PictureDigest(header, small: small, square: square)
    }
}

extension VipsPicture {
    fileprivate func digestPixels() throws(VipsFailure) -> DigestPixels {
        var bytes: [UInt8] = []
        let memory = try redrawn { bytes = Array($0.bytes) }
        return DigestPixels(width: memory.size.width, height: memory.size.height, bytes: bytes)
    }
}
