extension ImageFormat {
    /// Whether files of a format are read.
    package enum Acceptance: Sendable {
        case byDefault
        /// Only if the limits list the format.
        case onRequest
        /// Recognised, so that the refusal can name it.
        case never
    }

    /// Which frames of an animation are decoded.
    package enum Frames: Sendable {
        /// The format has one image, or its further images are not frames.
        case one
        case all
        /// All, one by one, and only if a variant needs them.
        case composed
        /// Only the first: no library reads the others. The file still counts as an animation.
        case first
    }

    /// Parts of a file that take a codec more time than their bytes suggest.
    package struct Parts: Sendable {
        /// In the plural, for messages.
        package let name: String
        /// Maximum per file.
        package let limit: Int
        /// Counts the parts of a file, at least up to one above the limit.
        package let count: @Sendable (UnsafeRawBufferPointer) -> Int
    }

    /// Decoding cost per pixel of the original. Measured with libvips 8.14.1 on one core on a noisy image of 2
    /// megapixels, and on an animation of 48 frames.
    package struct DecodeCost: Sendable {
        /// Bytes that the decoder holds.
        package var bytes = 8.0
        /// The same for a progressive or interlaced file; nil if equal.
        package var interlacedBytes: Double?
        /// Nanoseconds at every shrink factor.
        package var nanoseconds = 21.0
        package var interlacedNanoseconds: Double?
        /// Additional nanoseconds, divided by the shrink factor.
        package var shrinkableNanoseconds = 0.0
        /// Nanoseconds per pixel of an animation's frames; nil if equal.
        package var animatedNanoseconds: Double?
        /// Factor for the format's slowest files.
        package var margin = 1.25
    }

    /// How a format is written.
    package struct Output: Sendable {
        /// 0…100; nil for a format without quality.
        package var defaultQuality: Int?
        /// Larger images take too long and are not written.
        package var maxPixels = Int.max
        package var maxEdge = Int.max
        package var holdsAlpha = true
        package var holdsFrames = false
        /// Whether a variant that names the format has one frame unless it requests all.
        package var isStillByName = false
        package var holdsProfile = true
        /// Whether libvips can write EXIF's Copyright and Artist.
        package var holdsCopyright = true
        /// Whether images of this format keep it if a variant names no format.
        package var isKept = true
        /// Whether a variant that names it has its own key.
        package var hasOwnKey = false
        /// Whether libvips may list the format without having the encoder.
        package var needsTrial = false
        package var nanoseconds: Double
        /// The same per pixel of an animation's frames; nil if equal.
        package var animatedNanoseconds: Double?
        /// Minimum nanoseconds per frame of an animation.
        package var frameNanoseconds = 100_000.0
        /// Factor for the slowest images.
        package var margin = 1.25
        /// The encoder's bytes of memory per pixel.
        package var bytes = 8
    }
}
