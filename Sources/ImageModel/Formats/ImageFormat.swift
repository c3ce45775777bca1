/// An image format and its properties that need no codec.
///
/// Each format has a file in this directory. To add one, write that file, list the format in `allCases`, and name its
/// operations of libvips in `VipsCodec`.
public struct ImageFormat: Sendable {
    /// `jpeg`, `png`, …: the name in variant JSON and in reports.
    public let name: String
    /// The MIME type, `image/jpeg`.
    public let mediaType: String
    /// The tag that SDWebImage's coders give an image of this format; `undefined` where it has none.
    package internal(set) var sdImageFormat = SDImageFormat.undefined
    package let acceptance: Acceptance
    /// Whether a file starts as this format does. Reads at most the first `recognisedBytes` bytes.
    let hasSignature: @Sendable ([UInt8]) -> Bool
    /// Reads the size from the first bytes of a file; nil where only a codec can.
    var declaredSize: (@Sendable (UnsafeRawBufferPointer) -> DeclaredSize)?
    /// Where a file ends by the lengths that it declares, beyond its end when it is cut; nil where the codec finds
    /// that.
    package var declaredEnd: (@Sendable (UnsafeRawBufferPointer) -> Int)?
    /// Limited before a codec reads the file; nil where no kind of part is costly.
    package var parts: Parts?
    package var frames = Frames.one
    /// Counts the frames of a file whose codec does not; nil where it does.
    package var countedFrames: (@Sendable (UnsafeRawBufferPointer) -> Int)?
    /// Whether XMP gives the orientation where EXIF does not.
    package var hasXMPOrientation = false
    /// Whether SDWebImage's coder replaces a thumbnail size by the size that a limit on decoded bytes allows.
    package var limitReplacesThumbnail = false
    /// Whether it is drawn from shapes, not from pixels.
    package var isVector = false
    package var decoding = DecodeCost()
    /// How the format is written; nil where it is only read.
    package var output: Output?
    /// The name of the format that an image of this one is written back as, where it is another.
    package var writtenAs: String?
}

extension ImageFormat: CaseIterable {
    /// Every format, in the order in which signatures are tested. SVG is last: its signature may lie anywhere.
    public static let allCases: [ImageFormat] = [
        .jpeg, .png, .gif, .webp, .avif, .heic, .heif, .tiff, .jxl, .pdf, .bmp, .svg,
    ]

    /// The formats accepted by default.
    public static let acceptedByDefault = Set(allCases.filter { $0.acceptance == .byDefault })

    /// The formats that are read only where they are allowed: their parsers see little fuzzing, or do more than decode.
    public static let acceptedOnRequest = Set(allCases.filter { $0.acceptance == .onRequest })

    /// The usual endings of file names of the formats that are accepted by default, in lower case.
    package static let usualExtensions: Set<String> = [
        "jpg", "jpeg", "jpe", "jfif", "png", "apng", "gif", "webp", "avif", "heic", "heif", "hif",
    ]
    /// The usual endings of the formats that are accepted on request.
    package static let extensionsOnRequest: Set<String> = ["tif", "tiff", "jxl", "pdf", "bmp", "svg"]

    /// The formats that a variant can name.
    package static let outputs = allCases.filter { $0.output != nil }

    /// How many bytes of a file's beginning `recognise` reads.
    public static let recognisedBytes = 512

    /// Recognises a file by its signature; nil where it has none of `allCases`.
    ///
    /// Stricter than SDWebImage's sniffing: it compares whole signatures and the brands of a HEIF container.
    ///
    /// - Parameter prefix: the first 512 bytes, or the whole file.
    public static func recognise(_ prefix: [UInt8]) -> ImageFormat? { allCases.first { $0.hasSignature(prefix) } }
}

extension ImageFormat: RawRepresentable, Hashable, Codable {
    /// The name.
    public var rawValue: String { name }

    /// The format of that name; nil where there is none.
    public init?(rawValue: String) {
        guard let format = Self.allCases.first(where: { $0.name == rawValue }) else { return nil }
        self = format
    }
}

/// The size that a file's first bytes declare, read while the download goes on.
///
/// The child reads the header again with the codec, so a false declaration is found there.
package enum DeclaredSize: Sendable, Equatable {
    /// Width and height in pixels, as stored.
    case pixels(width: Int, height: Int)
    /// More bytes are needed.
    case later
    /// The format or this file declares none that can be read without a codec.
    case unknown

    /// Reads `bytes`, the beginning of a file of `format`.
    package init(_ bytes: UnsafeRawBufferPointer, format: ImageFormat) {
        self = format.declaredSize?(bytes) ?? .unknown
    }

    /// `later` where one of the numbers is beyond the bytes.
    init(_ width: Int?, _ height: Int?) {
        guard let width, let height else {
            self = .later
            return
        }
        self = .pixels(width: width, height: height)
    }
}

/// Which format a variant is written in.
package enum OutputFormat {
    package struct Choice: Sendable, Hashable {
        package let format: ImageFormat
        /// The format that was wanted, where it cannot be written: no encoder, too many pixels, or too long an edge.
        package let replaced: ImageFormat?
    }

    /// The requested format, else the source's where it is kept, else PNG with alpha or for frames, and JPEG otherwise.
    ///
    /// Source: SDWebImage 5.21.5, where a transformed image keeps its source's format tag, and an undefined one is
    /// written as PNG with alpha, else JPEG.
    ///
    /// - Parameter source: nil for the format of a coder, which is never written.
    package static func decide(
        requested: ImageFormat?, source: ImageFormat?, size: PixelSize, hasAlpha: Bool, hasFrames: Bool = false,
        writable: Set<ImageFormat>
    ) -> Choice {
        let fallback: ImageFormat = hasAlpha || hasFrames ? .png : .jpeg
        guard let named = requested ?? source else { return Choice(format: fallback, replaced: nil) }
        let candidate = written(named)
        let isAllowed = requested != nil || candidate.output?.isKept == true
        guard isAllowed, let output = candidate.output else { return Choice(format: fallback, replaced: nil) }
        guard writable.contains(candidate), size.area <= output.maxPixels,
            max(size.width, size.height) <= output.maxEdge
        else { return Choice(format: fallback, replaced: candidate == fallback ? nil : candidate) }
        return Choice(format: candidate, replaced: nil)
    }

    /// The format that an image of `format` is written back as.
    package static func written(_ format: ImageFormat) -> ImageFormat {
        format.writtenAs.flatMap(ImageFormat.init(rawValue:)) ?? format
    }
}
