public import ImageModel

/// What is known of a picture before any pixel is decoded.
public struct SourceHeader: Sendable, Hashable, Codable {
    /// The format, by Larder's own recognition.
    public var format: ImageFormat
    /// The size in pixels as stored, before orientation; of one frame.
    public var width, height: Int
    /// Frames; 1 for a still.
    public var frames: Int
    /// EXIF orientation, 1…8; 1 when there is none.
    public var orientation: Int
    /// Whether the picture has an alpha channel.
    public var hasAlpha: Bool
    /// Whether all of it must be held at once to decode it: progressive JPEG, interlaced PNG.
    public var isInterlaced: Bool

    /// How often an animation plays, 0 for ever; that of a still means nothing. From a GIF without the block: 1.
    public var loopCount = 0
    /// How long each frame of an animated GIF or WebP shows, as SDWebImage has it: below 11 ms means 100.
    public var frameMilliseconds: [Int] = []
    /// Whether its colours are RGB of an embedded profile that is not sRGB.
    public var hasOwnProfile = false

    /// Whether the file can be decoded to planes of luma and chroma in sRGB, see `PlanarPicture`.
    package var hasPlanes = false

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

    /// More than one frame: transformed only on request.
    public var isAnimated: Bool { frames > 1 }

    /// The size as seen, after orientation.
    public var uprightSize: PixelSize {
        orientation >= 5 ? PixelSize(width: height, height: width) : storedSize
    }

    /// The size as stored.
    public var storedSize: PixelSize { PixelSize(width: width, height: height) }
}
