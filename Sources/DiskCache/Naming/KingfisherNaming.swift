public import ImageModel

/// Kingfisher's file names: the key's SHA-256, without extension.
///
/// An original's key is its URL; a variant's key is the URL, `@` and its processors' identifiers joined by `|>`.
/// Assumes Kingfisher's default scale factor of 1: a point is a pixel, also in keys with `@2x`. Source: Kingfisher
/// 8.11.0; comments name files below its `Sources`.
public struct KingfisherNaming: CacheNaming {
    private static let library = "Kingfisher"

    /// `kingfisher`.
    public let name = "kingfisher"

    /// A stateless value.
    public init() {}

    /// `com.onevcat.Kingfisher.ImageCache.` and the namespace; `ImageCache.default` has the namespace `default`.
    /// `Cache/DiskStorage.swift:677`.
    public func directory(of namespace: String) -> String { "com.onevcat.Kingfisher.ImageCache.\(namespace)" }

    /// 64 lower-case hexadecimal digits. `Cache/DiskStorage.swift:390`, `Utility/String+SHA256.swift:33`.
    public func fileNames(of key: CacheKey) -> [String] { [SHA256Digest.hex(of: key.text.utf8)] }

    /// Whether `name` is 64 lower-case hexadecimal digits.
    public func isFileName(_ name: String) -> Bool { ProcessorName.isDigest(name, digits: 64) }

    /// 2100-01-01 00:00 UTC. The modification date is a file's expiry, and expired files are not read:
    /// `Cache/DiskStorage.swift:204`, `:289`, `:628`.
    public var modificationDate: Timestamp? { Timestamp(seconds: 4_102_444_800) }

    /// `Cache/ImageCache.swift:1466`, `Image/ImageProcessor.swift:86`.
    public func variantKey(of original: CacheKey, suffixes: [String]) -> CacheKey? {
        CacheKey(original.text + "@" + suffixes.joined(separator: "|>"))
    }

    /// Identifiers of the processors that make the same image.
    ///
    /// - A square `thumbnail` is `DownsamplingImageProcessor`, which limits the longer side (`Image/Image.swift`,
    ///   `downsampledImage`).
    /// - `resize` with `fill` is `ResizingImageProcessor`; `aspectFill` adds `CroppingImageProcessor`, whose anchor is
    ///   the gravity.
    /// - `crop` from the top left corner is `CroppingImageProcessor`.
    /// - `roundCorner` without a border is `RoundCornerImageProcessor`.
    /// - `tint` with `normal` is `TintImageProcessor`, with `sourceIn` `OverlayImageProcessor` of fraction 0.
    /// - `blur` of at least 4 is `BlurImageProcessor` of half that radius: SDWebImage's kernel is half as wide.
    /// - `keySuffix` is the identifier of an app's processor.
    ///
    /// - Throws: `VariantError` for everything else.
    public func suffixes(of variant: Variant) throws(VariantError) -> [String] {
        try ProcessorName.check(variant, Self.library)
        var identifiers: [String] = []
        if let thumbnail = variant.thumbnail { identifiers.append(try Self.downsampling(thumbnail)) }
        for index in variant.transforms.indices { identifiers += try Self.identifiers(variant, index) }
        identifiers += [variant.keySuffix].compactMap(\.self)
        try ProcessorName.checkNotEmpty(identifiers)
        return identifiers
    }

    /// `Image/ImageProcessor.swift:805`.
    private static func downsampling(_ thumbnail: Variant.Thumbnail) throws(VariantError) -> String {
        guard thumbnail.width == thumbnail.height, thumbnail.preserveAspectRatio else {
            throw VariantError(
                path: "$.thumbnail",
                message: "has no equal in Kingfisher, which limits the longer side: "
                    + "give it one size and the aspect ratio")
        }
        return identifier("DownsamplingImage", ProcessorName.pair(thumbnail.width, thumbnail.height))
    }

    private static func identifiers(_ variant: Variant, _ index: Int) throws(VariantError) -> [String] {
        func refusal(_ reason: String) -> VariantError { ProcessorName.refusal(variant, index, library, reason) }
        switch variant.transforms[index] {
        case .resize(let width, let height, let mode, let placement):
            guard placement.enlarges else { throw refusal("it always enlarges") }
            return try resizing(width, height, mode, placement.gravity, refusal)
        case .crop(let x, let y, let width, let height):
            guard x == 0, y == 0 else { throw refusal("only a crop with x 0 and y 0 has one") }
            return [cropping(width, height, anchor: (0, 0))]
        case .roundCorner(let radius, let corners, let border, let color):
            guard border == 0 || color == nil else { throw refusal("it draws no such border") }
            return [rounding(radius, corners)]
        case .tint(let color, .normal): return [identifier("TintImage", text(color))]
        case .tint(let color, .sourceIn): return [identifier("OverlayImage", "\(text(color))_0.0")]
        case .tint: throw refusal("only the blend modes normal and sourceIn have one")
        case .blur(let radius):
            guard radius >= 4 else { throw refusal("its weakest blur has radius 4") }
            return [identifier("BlurImage", "\(radius / 2)")]
        case .filter(let filter): throw refusal("\(filter.name) is not a processor of its own")
        case .flip, .rotate, .pad, .sharpen, .watermark: throw refusal("it has no such processor")
        }
    }

    /// `Image/ImageProcessor.swift:543`, `:545`.
    private static func resizing(
        _ width: Double, _ height: Double, _ mode: Transform.ScaleMode, _ gravity: Gravity,
        _ refusal: (String) -> VariantError
    ) throws(VariantError) -> [String] {
        let size = ProcessorName.pair(width, height)
        switch (mode, gravity) {
        case (.fill, _): return [identifier("ResizingImage", size)]
        case (.aspectFill, .point(let x, let y)):
            return [identifier("ResizingImage", "\(size), aspectFill"), cropping(width, height, anchor: (x, y))]
        case (.aspectFill, .interest): throw refusal("it anchors at a point")
        case (.aspectFit, _): throw refusal("it adds no border; a square thumbnail has an equal")
        }
    }

    /// `Image/ImageProcessor.swift:764`.
    private static func cropping(_ width: Double, _ height: Double, anchor: (x: Double, y: Double)) -> String {
        identifier(
            "CroppingImage",
            "\(ProcessorName.pair(width, height))_\(ProcessorName.pair(anchor.x, anchor.y))")
    }

    /// Both libraries use UIKit's corner bits. `Image/ImageProcessor.swift:162`, `:171`, `:404`.
    private static func rounding(_ radius: Double, _ corners: Corners) -> String {
        let bits = corners.rawValue & 15
        return identifier("RoundCornerImage", "\(radius)" + (bits == 15 ? "" : "_corner(\(bits))"))
    }

    /// Two decimals per component. `Image/ImageProcessor.swift:872`.
    private static func text(_ color: Color) -> String {
        let components = [color.red, color.green, color.blue, color.alpha].map { component in
            let hundredths = Int((component * 100).rounded(.toNearestOrEven))
            return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
        }
        return "(\(components.joined(separator: ",")))"
    }

    private static func identifier(_ processor: String, _ parameters: String) -> String {
        "com.onevcat.Kingfisher.\(processor)Processor(\(parameters))"
    }
}
