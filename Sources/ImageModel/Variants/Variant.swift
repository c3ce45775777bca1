/// One wanted output: how the image is decoded, transformed and written.
public struct Variant: Sendable, Hashable {
    /// A box in pixels, as SDWebImage's context `imageThumbnailPixelSize`.
    package struct Thumbnail: Sendable, Hashable {
        package let width, height: Double
        /// `true` by default.
        package let preserveAspectRatio: Bool

        /// Both sides must be greater than 0.
        package init(width: Double, height: Double, preserveAspectRatio: Bool = true) {
            self.width = width
            self.height = height
            self.preserveAspectRatio = preserveAspectRatio
        }

        /// SDWebImage's thumbnail suffix, `Thumbnail({800.000000,800.000000},1)`.
        package var key: String { "Thumbnail({\(width.keyText),\(height.keyText)},\(preserveAspectRatio.keyText))" }
    }

    /// Which frames of an animation a variant draws, transformers included.
    package enum Animation: String, Sendable, Hashable, CaseIterable {
        /// The first one.
        case still
        /// All of them.
        case frames

        /// The text in the key.
        fileprivate var key: String {
            switch self {
            case .still: "LarderFirstFrame"
            case .frames: "LarderEveryFrame"
            }
        }
    }

    /// The name in reports, unique in its pipeline.
    public let name: String
    /// The border that is cut off before anything else, under a key of its own; nil for none.
    package let trim: Trim?
    /// The size to decode to, before any transformer.
    package let thumbnail: Thumbnail?
    /// The transformers in their order; empty for none.
    package internal(set) var transforms: [Transform]
    /// The format to write; nil keeps the source's by SDWebImage's rules, unless `automatic` chooses one.
    public let format: ImageFormat?
    /// The formats of which the smallest file is written, under a key of their own; nil by default.
    package let automatic: AutomaticFormat?
    /// 0…100; nil is the format's default.
    public let quality: Int?
    /// The most bytes that the output may have: the quality is reduced until it fits.
    public let maxBytes: Int?
    /// The structural similarity to the drawn pixels, 0.5…0.9999, that the lowest possible quality is to have, under a
    /// key of its own; nil for none.
    public let ssim: Double?
    /// A box in pixels into which the result is shrunk before it is encoded; SDWebImage's `encodeMaxPixelSize`.
    package let maxPixelSize: Thumbnail?
    /// The colour under transparency where the format has none; nil is white.
    package let background: Color?
    /// Settings of the format's encoder, under a key of their own; nil for its usual ones.
    package let encode: EncoderOptions?
    /// Which frames of an animation are drawn, under a key of its own. By default nil: every frame is drawn for a
    /// thumbnail without transformers; otherwise the animation is copied, or its first frame drawn.
    package internal(set) var animation: Animation?
    /// Keeps the colours in the original's profile, which is embedded. By default `false`: they are converted to sRGB.
    public let keepICC: Bool
    /// Keeps EXIF's Copyright and Artist; `false` by default. No other metadata is kept.
    public let keepCopyright: Bool
    /// One more transformer key, so that two variants that differ only in format have different keys.
    public let keySuffix: String?

    /// The texts to put into the original's key, one after another by SDWebImage's suffix rule: the thumbnail's, then
    /// the parts of `trim`, of all transformers, of `animation`, `format`, `encode`, `ssim` and `keySuffix`, joined by
    /// hyphens.
    ///
    /// Empty where the variant has the original's key, which a pipeline refuses.
    public var keySuffixes: [String] {
        let transformers =
            [trim?.key].compactMap(\.self) + transforms.map(\.key)
            + [
                animation?.key, formatKey, encode?.key, ssim.map { "LarderQuality(ssim=\($0.keyText))" }, keySuffix,
            ].compactMap(\.self)
        return [thumbnail?.key].compactMap(\.self)
            + (transformers.isEmpty ? [] : [transformers.joined(separator: "-")])
    }

    /// The text in the key for formats that SDWebImage does not write.
    private var formatKey: String? {
        automatic?.key ?? (format?.output?.hasOwnKey == true ? format.map { "LarderFormat(\($0.name))" } : nil)
    }

    /// The files of its watermarks.
    package var watermarks: [String] {
        transforms.compactMap { if case .watermark(let watermark) = $0 { watermark.file } else { nil } }
    }

    /// The variant of an animation that SDWebImage stores under the thumbnail's key: every frame at that size, without
    /// transformers.
    package var thumbnailOfEveryFrame: Variant {
        var variant = thumbnailOfFirstFrame
        variant.animation = .frames
        return variant
    }

    /// The same of the first frame, for SDWebImage's `encodeFirstFrameOnly`.
    package var thumbnailOfFirstFrame: Variant {
        var variant = self
        variant.transforms = []
        return variant
    }
}

/// A border of one colour, which is cut off before an image is resized or transformed.
package struct Trim: Sendable, Hashable {
    /// The largest difference of a channel from the colour within the border, 0…254; 10 by default.
    package let threshold: Double
    /// The border's colour; nil, the default, for the colour of the pixel at the top left.
    package let color: Color?

    /// - Throws: `VariantError` with the JSON path.
    init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        threshold = try fields.number("threshold", in: 0...254) ?? 10
        color = try fields.color("color")
        try fields.finish()
    }

    /// The JSON that parses to it, with the threshold written out.
    var json: JSONValue {
        let fields: [String: JSONValue?] = ["threshold": .number(threshold), "color": color.map { .string($0.text) }]
        return .object(fields.compactMapValues(\.self))
    }

    /// The text in keys, `LarderTrim(10.000000,(null))`.
    var key: String { "LarderTrim(\(threshold.keyText),\(color?.text ?? "(null)"))" }

    /// `trim within 10.0 of #ffffffff`.
    package var text: String { "trim within \(threshold) of \(color?.text ?? "the first pixel")" }
}
