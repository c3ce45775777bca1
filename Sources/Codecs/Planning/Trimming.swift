internal import ImageModel
internal import Transcoder

/// A border that is cut before the steps of a drawing, which depend on how much of it there is.
struct Trimming: Sendable, Hashable {
    let trim: Trim
    private let picture: Drawing.Picture
    private let header: SourceHeader
    private let scale: Double
    private let limits: TranscodeLimits

    init(_ trim: Trim, _ picture: Drawing.Picture, _ header: SourceHeader, scale: Double, limits: TranscodeLimits) {
        self.trim = trim
        self.picture = picture
        self.header = header
        self.scale = scale
        self.limits = limits
    }

    /// The drawing of the part inside the border.
    ///
    /// - Parameter size: of the upright part.
    /// - Throws: `TranscodeError` 401 when a transformer has no result.
    func drawing(of size: PixelSize) throws(TranscodeError) -> Drawing {
        let stored = header.orientation >= 5 ? size.transposed : size
        var part = header
        (part.width, part.height) = (stored.width, stored.height)
        return try Drawing(picture, of: part, scale: scale, limits: limits)
    }

    /// At least the size to which any part of an image is decoded, as stored; nil for its own.
    static func decoded(_ header: SourceHeader, box: Variant.Thumbnail?, limitBytes: Int?) -> PixelSize? {
        // A coder of animated formats replaces the box by the limit's size.
        guard let box, limitBytes == nil else { return nil }
        return atMost(header.storedSize, in: box)
    }

    /// At least the size of any part of an image that is fitted into a box; nil for the image's own.
    static func atMost(_ size: PixelSize, in box: Variant.Thumbnail) -> PixelSize? {
        let most = PixelSize(
            width: max(1, Geometry.pixels(box.width.rounded())), height: max(1, Geometry.pixels(box.height.rounded())))
        if size.width <= most.width && size.height <= most.height { return nil }
        guard box.preserveAspectRatio else { return most }
        return PixelSize(width: min(size.width, most.width), height: min(size.height, most.height))
    }
}
