/// One wanted output: how the picture is decoded, transformed and written.
public struct Variant: Sendable, Hashable {
    /// A decode size in pixels, as SDWebImage's context `imageThumbnailPixelSize`.
    public struct Thumbnail: Sendable, Hashable {
        /// The box, in pixels.
        public let width, height: Double
        /// Whether the aspect is kept; default `true`.
        public let preserveAspectRatio: Bool

        /// A decode size of which both sides are greater than 0.
        public init(width: Double, height: Double, preserveAspectRatio: Bool = true) {
            self.width = width
            self.height = height
            self.preserveAspectRatio = preserveAspectRatio
        }

        /// Exactly SDWebImage's thumbnail suffix, `Thumbnail({800.000000,800.000000},1)`.
        public var key: String { "Thumbnail({\(fixed(width)),\(fixed(height))},\(digit(preserveAspectRatio)))" }
    }

    /// The name by which reports speak of it, unique in its pipeline.
    public let name: String
    /// The size to decode to, before any transformer.
    public let thumbnail: Thumbnail?
    /// The transformers in their order; empty for none.
    public let transforms: [Transform]
    /// The format to write; nil keeps the source's by SDWebImage's rules.
    public let format: ImageFormat?
    /// 0…100; nil is the format's default.
    public let quality: Int?
    /// The most bytes the output may have: the quality goes down until it has no more.
    public let maxBytes: Int?
    /// A box in pixels into which the result is shrunk before it is encoded, its aspect kept; SDWebImage's
    /// `encodeMaxPixelSize`.
    public let maxPixelSize: Thumbnail?
    /// What lies under transparency where the format has none; nil is white.
    public let background: Color?
    /// Every frame of an animated GIF or WebP is drawn, under a key of its own; default `false`: the animation is
    /// copied, or its first frame drawn.
    public let everyFrame: Bool
    /// The colours stay in the profile of the original, which is embedded; default `false`: they become sRGB.
    public let keepICC: Bool
    /// EXIF's Copyright and Artist stay; default `false`. No other metadata ever does.
    public let keepCopyright: Bool
    /// One more transformer key, so that two variants differing only in format do not collide.
    public let keySuffix: String?

    /// The key of `everyFrame`, after those of the transformers.
    private static let everyFrameKey = "LarderEveryFrame"

    /// The texts to put into the original's key, one after another by SDWebImage's suffix rule: the thumbnail's,
    /// then that of all transformers joined by hyphens, `everyFrame`'s and `keySuffix` as the last of them.
    ///
    /// Empty when the variant has the original's key, which a pipeline refuses.
    public var keySuffixes: [String] {
        let transformers =
            transforms.map(\.key) + (everyFrame ? [Self.everyFrameKey] : []) + (keySuffix.map { [$0] } ?? [])
        return (thumbnail.map { [$0.key] } ?? [])
            + (transformers.isEmpty ? [] : [transformers.joined(separator: "-")])
    }
}
