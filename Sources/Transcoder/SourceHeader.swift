package import ImageModel

/// An image's facts, read before its pixels are decoded.
package struct SourceHeader: Sendable, Hashable, Codable {
    /// By its signature; PNG for a coder's picture.
    package var format: ImageFormat
    /// The coder that made the picture; nil if Larder reads the format.
    package var coder: String?
    /// The size of one frame in pixels, before orientation.
    package var width, height: Int
    /// 1 for a still.
    package var frames: Int
    /// EXIF orientation, 1…8; 1 if there is none.
    package var orientation: Int
    package var hasAlpha: Bool
    /// Whether decoding needs the whole image in memory: progressive JPEG, interlaced PNG.
    package var isInterlaced: Bool

    /// Times that an animation plays, 0 for ever; undefined for a still. 1 for a GIF without loop block.
    package var loopCount = 0
    /// Duration of each frame; 100 if the file has less than 11, as in SDWebImage. Empty above `frameLimit` frames.
    package var frameMilliseconds: [Int] = []
    /// Whether the colours are RGB with an embedded profile other than sRGB.
    package var hasOwnProfile = false

    /// Whether a GIF has a loop block.
    package var hasLoopBlock = false
    /// Whether the file can be decoded to a `PlanarImage` in sRGB.
    package var hasPlanes = false
    /// Whether these planes have an embedded profile other than sRGB.
    package var hasPlanesToConvert = false

    package init(
        format: ImageFormat, width: Int, height: Int, frames: Int = 1, orientation: Int = 1, hasAlpha: Bool = false,
        isInterlaced: Bool = false
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.frames = frames
        self.orientation = orientation
        self.hasAlpha = hasAlpha
        self.isInterlaced = isInterlaced
    }

    /// Maximum frames of a variant. A child's message has no room for the times of many more.
    package static let frameLimit = 10_000

    /// The name of the original's format.
    package var formatName: String { coder ?? format.name }

    package var isAnimated: Bool { frames > 1 }

    /// Whether a variant can have all frames.
    package var hasReadableFrames: Bool {
        if case .first = format.frames { return false }
        return isAnimated
    }

    /// The size after orientation.
    package var uprightSize: PixelSize { orientation >= 5 ? storedSize.transposed : storedSize }

    /// The size before orientation.
    package var storedSize: PixelSize { PixelSize(width: width, height: height) }
}
