extension ImageFormat {
    /// When files of a format are read.
    package enum Acceptance: Sendable {
        case byDefault
        /// Only where the limits list the format.
        case onRequest
        /// Recognised, so that the refusal can name it.
        case never
    }

    /// Which frames of an animation are decoded.
    package enum Frames: Sendable {
        /// The format has one image, or its further images are not frames.
        case one
        case all
        /// All, one by one, and only where a variant has them.
        case composed
        /// The first: no library reads the others. The file is an animation all the same.
        case first
    }

    /// Parts of a file that take a codec more time than their bytes suggest.
    package struct Parts: Sendable {
        /// In the plural, for messages.
        package let name: String
        /// The most that a file may have.
        package let limit: Int
        /// Counts the parts of a file, at least up to one more than the limit.
        package let count: @Sendable (UnsafeRawBufferPointer) -> Int
    }

    /// What decoding costs for each pixel of the original. Measured with libvips 8.14.1 on one core over an image of 2
    /// megapixels with noise, and an animation of 48 frames.
    package struct DecodeCost: Sendable {
        /// Bytes that the decoder holds.
        package var bytes = 8.0
        /// The same for a progressive or interlaced file; nil where there is no difference.
        package var interlacedBytes: Double?
        /// Nanoseconds at every shrink factor.
        package var nanoseconds = 21.0
        package var interlacedNanoseconds: Double?
        /// Further nanoseconds, divided by the shrink factor.
        package var shrinkableNanoseconds = 0.0
        /// Nanoseconds for each pixel of an animation's frames; nil where there is no difference.
        package var animatedNanoseconds: Double?
        /// How many times as long the slowest files of the format take.
        package var margin = 1.25
    }

    /// How a format is written.
    package struct Output: Sendable {
        /// 0…100; nil for a format without a quality.
        package var defaultQuality: Int?
        /// The most pixels that are written: a larger image takes too long.
        package var maxPixels = Int.max
        package var maxEdge = Int.max
        package var holdsAlpha = true
        package var holdsFrames = false
        /// Whether a variant that names the format has one frame unless it requests all.
        package var isStillByName = false
        package var holdsProfile = true
        /// Whether libvips can write EXIF's Copyright and Artist.
        package var holdsCopyright = true
        /// Whether an image of this format keeps it where a variant names no format.
        package var isKept = true
        /// Whether a variant that names it has a key of its own.
        package var hasOwnKey = false
        /// Whether libvips may offer the format without having the encoder.
        package var needsTrial = false
        /// Nanoseconds of processor time for each pixel.
        package var nanoseconds: Double
        /// The same for each pixel of an animation's frames; nil where there is no difference.
        package var animatedNanoseconds: Double?
        /// Nanoseconds for each frame of an animation, however small it is.
        package var frameNanoseconds = 100_000.0
        /// How many times as long the slowest images take.
        package var margin = 1.25
        /// Bytes of memory that the encoder takes for each pixel.
        package var bytes = 8
    }
}
