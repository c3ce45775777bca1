public import ImageModel

/// One picture and the variants wanted of it, as open descriptors: the child opens nothing itself.
public struct TranscodeRequest: Sendable {
    /// The original, open for reading, from offset 0.
    public var source: Int32
    /// The variants; every one within what `Pipeline.validateSupported` lets pass.
    public var variants: [Variant]
    /// One empty file per variant, open for writing. They stay the caller's, who closes them and throws away those
    /// of failed variants.
    public var outputs: [Int32]
    /// Pixels per point, at least 1; SDWebImage's scale factor of the key. Default 1.
    public var scale: Double
    /// SDWebImage's option TransformAnimatedImage: animated pictures give variants of their first frame. Default
    /// `false`: their variants are copies of the original's bytes.
    public var transformsAnimated: Bool
    /// SDWebImage's option ScaleDownLargeImages with its limit, 62914560 by default there: a picture that takes more
    /// bytes decoded is decoded smaller. Default nil, for never.
    public var scaleDownBytes: Int?
    /// Whether the report has a digest; default `true`.
    public var wantsDigest = true

    /// Whether outputs get plain pixels in place of a picture's file, for tables of pictures: red, green, blue and
    /// straight alpha of each, row by row from the top. Formats and qualities then mean nothing. Default `false`.
    public var givesPixels = false

    /// A request; the descriptors must stay open until it is answered.
    public init(
        source: Int32, variants: [Variant], outputs: [Int32], scale: Double = 1, transformsAnimated: Bool = false
    ) {
        precondition(variants.count == outputs.count, "every variant needs an output")
        precondition(scale >= 1, "a scale factor is at least 1")
        self.source = source
        self.variants = variants
        self.outputs = outputs
        self.scale = scale
        self.transformsAnimated = transformsAnimated
    }
}
