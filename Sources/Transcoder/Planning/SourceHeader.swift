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

/// A size in whole pixels.
public struct PixelSize: Sendable, Hashable {
    /// The sides.
    public var width, height: Int

    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Width times height.
    public var area: Int { width * height }

    /// The sides exchanged.
    var turned: PixelSize { PixelSize(width: height, height: width) }
}
