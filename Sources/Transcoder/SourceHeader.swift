package import ImageModel

/// The facts about an image that are read before its pixels are decoded.
package struct SourceHeader: Sendable, Hashable, Codable {
    /// The format, by its signature; PNG for the picture of a coder.
    package var format: ImageFormat
    /// The name of the coder that made the picture; nil for an image in a format that Larder reads.
    package var coder: String?
    /// The size of one frame in pixels as stored, before orientation.
    package var width, height: Int
    /// Frames; 1 for a still.
    package var frames: Int
    /// EXIF orientation, 1…8; 1 when there is none.
    package var orientation: Int
    /// Whether the image has an alpha channel.
    package var hasAlpha: Bool
    /// Whether decoding holds the whole image in memory: progressive JPEG, interlaced PNG.
    package var isInterlaced: Bool

    /// How often an animation plays, 0 for ever; undefined for a still. 1 for a GIF without the block.
    package var loopCount = 0
    /// How long each frame of an animation shows; 100 when the file has less than 11, as in SDWebImage. Empty with more
    /// than `frameLimit` frames.
    package var frameMilliseconds: [Int] = []
    /// Whether the colours are RGB of an embedded profile that is not sRGB.
    package var hasOwnProfile = false

    /// Whether a GIF has the block with its loop count.
    package var hasLoopBlock = false
    /// Whether the file can be decoded to a `PlanarImage` in sRGB.
    package var hasPlanes = false
    /// Whether these planes have the colours of an embedded profile that is not sRGB.
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

    /// The most frames that a variant can have: 10,000. A child's message has no room for the times of many more.
    package static let frameLimit = 10_000

    /// The name of the original's format.
    package var formatName: String { coder ?? format.name }

    /// Whether there is more than one frame.
    package var isAnimated: Bool { frames > 1 }

    /// Whether a variant can have all frames.
    package var hasReadableFrames: Bool {
        if case .first = format.frames { return false }
        return isAnimated
    }

    /// The size after orientation.
    package var uprightSize: PixelSize { orientation >= 5 ? storedSize.transposed : storedSize }

    /// The size as stored.
    package var storedSize: PixelSize { PixelSize(width: width, height: height) }
}
