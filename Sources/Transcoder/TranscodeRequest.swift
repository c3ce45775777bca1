public import ImageModel

/// One image and its requested variants, as open descriptors: the child opens no files.
public struct TranscodeRequest: Sendable {
    /// The original, open for reading, from offset 0.
    public var source: Int32
    /// The variants; each must pass `Pipeline.validateSupported`.
    public var variants: [Variant]
    /// One empty file per variant, open for writing. The caller closes them and removes files of failed variants.
    public var outputs: [Int32]
    /// Pixels per point, at least 1: the scale factor of SDWebImage's key. 1 by default.
    public var scale: Double
    /// How animations and vector images are drawn; empty by default.
    public var options: Options
    /// SDWebImage's option ScaleDownLargeImages with its limit (62914560 there): images with more decoded bytes are
    /// decoded smaller. Nil by default, for no limit.
    public var scaleDownBytes: Int?
    /// Whether the report has a digest; `true` by default.
    public var wantsDigest = true
    /// The coder to use, whatever the image's signature: SDWebImage's context `imageCoder`. Nil by default.
    public var coder: String?
    /// Whether the source is the first part of a file: the part that is there is drawn, where the original would be copied
    /// too, and no coder's program runs. `false` by default.
    package var isPartial = false
    /// Names of the open watermarks; set by the pool.
    var watermarks: [String] = []
    /// Whether outputs get raw pixels instead of an image file: red, green, blue, straight alpha, row by row from the
    /// top. Formats and qualities are then ignored. `false` by default.
    public var wantsRawRGBA = false

    /// The descriptors must stay open until the request is answered.
    public init(
        source: Int32, variants: [Variant], outputs: [Int32], scale: Double = 1, options: Options = []
    ) {
        precondition(variants.count == outputs.count, "every variant needs an output")
        precondition(scale >= 1, "a scale factor is at least 1")
        self.source = source
        self.variants = variants
        self.outputs = outputs
        self.scale = scale
        self.options = options
    }
}

extension TranscodeRequest {
    /// When to draw animations and vector images instead of copying the original's bytes.
    public struct Options: OptionSet, Sendable, Hashable, Codable {
        /// The bits.
        public let rawValue: Int

        /// Options with these bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Transformers draw the first frame of an animation: SDWebImage's TransformAnimatedImage.
        public static let transformsAnimated = Options(rawValue: 1)
        /// Every variant shows the first frame of an animation: SDWebImage's DecodeFirstFrameOnly.
        public static let firstFrameOnly = Options(rawValue: 2)
        /// Transformers draw SVG and PDF: SDWebImage's TransformVectorImage.
        public static let transformsVector = Options(rawValue: 4)
        /// Thumbnails of an animation keep its bytes instead of re-encoded frames: SDWebImage's context
        /// `animatedImageClass`.
        public static let keepsAnimation = Options(rawValue: 8)
        /// Thumbnails of an animation have only its first frame: SDWebImage's `encodeFirstFrameOnly`.
        public static let encodesFirstFrame = Options(rawValue: 16)
    }
}
