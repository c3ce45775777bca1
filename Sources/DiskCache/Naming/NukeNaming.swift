public import ImageModel

/// Nuke's file names: the key's SHA-1, without extension.
///
/// An original's key is its URL; a variant's key is the URL followed by the identifiers of its thumbnail options and
/// processors. Sizes are pixels. Source: Nuke 13.2.0; comments name files below its `Sources/Nuke`.
public struct NukeNaming: CacheNaming {
    private static let library = "Nuke"

    /// `nuke`.
    public let name = "nuke"

    /// A stateless value.
    public init() {}

    /// The directory of `ImagePipeline.Configuration.withDataCache` for `default`, else the namespace.
    /// `Pipeline/ImagePipeline+Configuration.swift:211`.
    public func directory(of namespace: String) -> String {
        namespace == "default" ? "com.github.kean.Nuke.DataCache" : namespace
    }

    /// 40 lower-case hexadecimal digits. `Caching/DataCache.swift:122`, `Internal/Extensions.swift:15`.
    public func fileNames(of key: CacheKey) -> [String] { [GLibText.sha1(of: key.text.utf8)] }

    /// Whether `name` is 40 lower-case hexadecimal digits.
    public func isFileName(_ name: String) -> Bool { ProcessorName.isDigest(name, digits: 40) }

    /// `Pipeline/ImagePipeline+Cache.swift:207`, `Processing/ImageProcessors+Composition.swift:48`.
    public func variantKey(of original: CacheKey, suffixes: [String]) -> CacheKey? {
        CacheKey(original.text + suffixes.joined())
    }

    /// Identifiers of the thumbnail options and processors that make the same image.
    ///
    /// - `thumbnail` is `ThumbnailOptions(size:unit:contentMode:)` with `.pixels` and `.aspectFit`.
    /// - `resize` with `aspectFill` at the centre is `Resize` with `.aspectFill`, `crop` and `upscale`.
    /// - `roundCorner` of all corners without a border is `RoundedCorners`.
    /// - `blur` of an even radius is `GaussianBlur` of half that radius: SDWebImage's kernel is half as wide.
    /// - `filter` with `CIColorInvert` is `CoreImageFilter(name:)`.
    /// - `keySuffix` is the identifier of an app's processor.
    ///
    /// - Throws: `VariantError` for everything else.
    public func suffixes(of variant: Variant) throws(VariantError) -> [String] {
        try ProcessorName.check(variant, Self.library)
        var identifiers: [String] = []
        if let thumbnail = variant.thumbnail { identifiers.append(try Self.thumbnail(thumbnail)) }
        for index in variant.transforms.indices { identifiers.append(try Self.identifier(variant, index)) }
        identifiers += [variant.keySuffix].compactMap(\.self)
        try ProcessorName.checkNotEmpty(identifiers)
        return identifiers
    }

    /// The last four words are options that are true by default. `ImageRequest.swift:440`, `:442`, where the host is
    /// written with a slash.
    private static func thumbnail(_ thumbnail: Variant.Thumbnail) throws(VariantError) -> String {
        guard thumbnail.preserveAspectRatio else {
            throw VariantError(path: "$.thumbnail", message: "has no equal in Nuke, which keeps the aspect ratio")
        }
        return "com.github/kean/nuke/thumbnail?width=\(narrow(thumbnail.width)),height=\(narrow(thumbnail.height)),"
            + "contentMode=.aspectFit,options=truetruetruetrue"
    }

    private static func identifier(_ variant: Variant, _ index: Int) throws(VariantError) -> String {
        func refusal(_ reason: String) -> VariantError { ProcessorName.refusal(variant, index, library, reason) }
        switch variant.transforms[index] {
        // `Processing/ImageProcessors+Resize.swift:66`.
        case .resize(let width, let height, .aspectFill, let placement):
            guard placement == Transform.Placement() else { throw refusal("it crops at the centre and enlarges") }
            let size = ProcessorName.pair(narrow(width), narrow(height))
            return "com.github.kean/nuke/resize?s=\(size),cm=.aspectFill,crop=true,upscale=true"
        case .resize: throw refusal("it keeps the aspect ratio and adds no border; a thumbnail has an equal")
        // `Processing/ImageProcessors+RoundedCorners.swift:40`.
        case .roundCorner(let radius, let corners, let border, let color):
            guard corners.rawValue & 15 == 15 else { throw refusal("it rounds all corners") }
            guard border == 0 || color == nil else { throw refusal("it draws another border") }
            return "com.github.kean/nuke/rounded_corners?radius=\(radius)"
        // `Processing/ImageProcessors+GaussianBlur.swift:42`.
        case .blur(let radius):
            // A radius of 0 or less changes nothing, as in Larder.
            guard let half = Int(exactly: radius / 2) else { throw refusal("its radius, half of this, is whole") }
            return "com.github.kean/nuke/gaussian_blur?radius=\(half)"
        // `Processing/ImageProcessors+CoreImage.swift:51`, which has one parenthesis too many.
        case .filter(let filter):
            guard filter.name == "CIColorInvert" else { throw refusal("Larder does not draw it as Core Image does") }
            return "com.github.kean/nuke/core_image?name=CIColorInvert)"
        case .crop, .flip, .rotate, .tint, .pad, .sharpen, .watermark: throw refusal("it has no such processor")
        }
    }

    /// A size with a `Float`'s precision, as in Nuke. `Processing/ImageProcessors+Resize.swift:77`.
    private static func narrow(_ size: Double) -> Double { Double(Float(size)) }
}
