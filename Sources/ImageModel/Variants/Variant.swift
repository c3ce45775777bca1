/// One requested output: how the image is decoded, transformed and written.
public struct Variant: Sendable, Hashable {
    /// A box in pixels, as in SDWebImage's context `imageThumbnailPixelSize`.
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

        /// SDWebImage's thumbnail suffix, such as `Thumbnail({800.000000,800.000000},1)`.
        package var key: String { "Thumbnail({\(width.keyText),\(height.keyText)},\(preserveAspectRatio.keyText))" }
    }

    /// Which frames of an animation a variant draws, including transformers.
    package enum Animation: String, Sendable, Hashable, CaseIterable {
        case still
        case frames

        /// In the key.
        fileprivate var key: String {
            switch self {
            case .still: "LarderFirstFrame"
            case .frames: "LarderEveryFrame"
            }
        }
    }

    /// The name in reports, unique in its pipeline.
    public let name: String
    /// The border trimmed before anything else, with its own key; nil for none.
    package let trim: Trim?
    /// The size to decode to, before any transformer.
    package let thumbnail: Thumbnail?
    /// In order; empty for none.
    package internal(set) var transforms: [Transform]
    /// The format to write; nil keeps the source's by SDWebImage's rules, unless `automatic` chooses one.
    public let format: ImageFormat?
    /// Candidate formats, of which the smallest file is written, with their own key; nil by default.
    package let automatic: AutomaticFormat?
    /// 0…100; nil is the format's default.
    public let quality: Int?
    /// Maximum bytes of the output: the quality is reduced until it fits.
    public let maxBytes: Int?
    /// The most bytes that a file should have: reports count the files above it. No part of the key, nor of the recipe;
    /// nil for none.
    package let budget: Int?
    /// The structural similarity to the drawn pixels, 0.5…0.9999, that the lowest possible quality is to have, under a
    /// key of its own; nil for none.
    public let ssim: Double?
    /// A box in pixels into which the result is shrunk before encoding; SDWebImage's `encodeMaxPixelSize`.
    package let maxPixelSize: Thumbnail?
    /// The colour under transparency in a format without it; nil is white.
    package let background: Color?
    /// Settings of the format's encoder, with their own key; nil for the defaults.
    package let encode: EncoderOptions?
    /// Which frames of an animation are drawn, with its own key. Nil, the default, draws every frame for a thumbnail
    /// without transformers; otherwise it copies the animation or draws its first frame.
    package internal(set) var animation: Animation?
    /// Keeps and embeds the original's colour profile. `false`, the default, converts to sRGB.
    public let keepICC: Bool
    /// Keeps EXIF's Copyright and Artist; `false` by default. No other metadata is kept.
    public let keepCopyright: Bool
    /// Another transformer key, so that variants that differ only in format have different keys.
    public let keySuffix: String?

    /// The texts inserted into the original's key by SDWebImage's suffix rule: the thumbnail's, then the parts of
    /// `trim`, all transformers, `animation`, `format`, `encode`, `ssim` and `keySuffix`, joined by hyphens.
    ///
    /// Empty if the variant has the original's key, which a pipeline refuses.
    public var keySuffixes: [String] {
        let transformers =
            [trim?.key].compactMap(\.self) + transforms.map(\.key)
            + [
                animation?.key, formatKey, encode?.key, ssim.map { "LarderQuality(ssim=\($0.keyText))" }, keySuffix,
            ].compactMap(\.self)
        return [thumbnail?.key].compactMap(\.self)
            + (transformers.isEmpty ? [] : [transformers.joined(separator: "-")])
    }

    /// In the key, for formats that SDWebImage does not write.
    private var formatKey: String? {
        automatic?.key ?? (format?.output?.hasOwnKey == true ? format.map { "LarderFormat(\($0.name))" } : nil)
    }

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

    /// The same with the first frame, for SDWebImage's `encodeFirstFrameOnly`.
    package var thumbnailOfFirstFrame: Variant {
        var variant = self
        variant.transforms = []
        return variant
    }
}

/// A border of one colour, trimmed before an image is resized or transformed.
package struct Trim: Sendable, Hashable {
    /// Maximum difference of a channel within the border, 0…254; 10 by default.
    package let threshold: Double
    /// The border's colour; nil, the default, uses the top left pixel's.
    package let color: Color?

    /// - Throws: `VariantError` with the JSON path.
    init(_ value: JSONValue, path: String) throws(VariantError) {
        var fields = try JSONFields(value, path: path)
        threshold = try fields.number("threshold", in: 0...254) ?? 10
        color = try fields.color("color")
        try fields.finish()
    }

    /// The JSON that parses to it, including the threshold.
    var json: JSONValue {
        let fields: [String: JSONValue?] = ["threshold": .number(threshold), "color": color.map { .string($0.text) }]
        return .object(fields.compactMapValues(\.self))
    }

    /// In keys: `LarderTrim(10.000000,(null))`.
    var key: String { "LarderTrim(\(threshold.keyText),\(color?.text ?? "(null)"))" }

    /// Such as `trim within 10.0 of #ffffffff`.
    package var text: String { "trim within \(threshold) of \(color?.text ?? "the first pixel")" }
}
