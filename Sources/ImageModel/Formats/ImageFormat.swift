/// An image format and its codec-independent properties.
///
/// To add a format, declare it in `Formats.swift`, or in a file of its own if it needs a parser; list it and its file
/// extensions below; and name its libvips operations in `VipsCodec`.
public struct ImageFormat: Sendable {
    /// The name in variant JSON and reports: `jpeg`, `png`, …
    public let name: String
    /// The MIME type, such as `image/jpeg`.
    public let mediaType: String
    /// The tag of SDWebImage's coders for this format; `undefined` if it has none.
    package internal(set) var sdImageFormat = SDImageFormat.undefined
    package let acceptance: Acceptance
    /// Whether a file begins like this format. Reads at most `recognisedBytes` bytes.
    let hasSignature: @Sendable ([UInt8]) -> Bool
    /// Reads the size from a file's first bytes; nil if only a codec can.
    var declaredSize: (@Sendable (UnsafeRawBufferPointer) -> DeclaredSize)?
    /// A file's end by its declared lengths, beyond its actual end if truncated; nil if the codec detects that.
    package var declaredEnd: (@Sendable (UnsafeRawBufferPointer) -> Int)?
    /// Limited before a codec reads the file; nil if no kind of part is costly.
    package var parts: Parts?
    package var frames = Frames.one
    /// Counts the frames if the codec does not; nil otherwise.
    package var countedFrames: (@Sendable (UnsafeRawBufferPointer) -> Int)?
    /// Whether XMP gives the orientation if EXIF does not.
    package var hasXMPOrientation = false
    /// Whether SDWebImage's coder replaces a thumbnail size by the size that a decoded byte limit allows.
    package var limitReplacesThumbnail = false
    /// Whether it consists of shapes instead of pixels.
    package var isVector = false
    package var decoding = DecodeCost()
    /// Nil if it is only read.
    package var output: Output?
    /// The format in which images of this one are written, if different.
    package var writtenAs: String?
}

extension ImageFormat: CaseIterable {
    /// All formats, in the order of testing signatures. SVG is last: its signature may be anywhere.
    public static let allCases: [ImageFormat] = [
        .jpeg, .png, .gif, .webp, .avif, .heic, .heif, .tiff, .jxl, .pdf, .bmp, .svg,
    ]

    /// The formats accepted by default.
    public static let acceptedByDefault = Set(allCases.filter { $0.acceptance == .byDefault })

    /// Formats that are read only if allowed: their parsers are fuzzed little, or do more than decode.
    public static let acceptedOnRequest = Set(allCases.filter { $0.acceptance == .onRequest })

    /// Usual file extensions of the formats accepted by default, in lower case.
    package static let usualExtensions: Set<String> = [
        "jpg", "jpeg", "jpe", "jfif", "png", "apng", "gif", "webp", "avif", "heic", "heif", "hif",
    ]
    /// Usual extensions of the formats accepted on request.
    package static let extensionsOnRequest: Set<String> = ["tif", "tiff", "jxl", "pdf", "bmp", "svg"]

    /// Formats that a variant can name.
    package static let outputs = allCases.filter { $0.output != nil }

    /// Bytes of a file's beginning that `recognise` reads.
    public static let recognisedBytes = 512

    /// Recognises a file by its signature; nil if it matches none of `allCases`.
    ///
    /// Stricter than SDWebImage's sniffing: compares whole signatures and HEIF brands.
    ///
    /// - Parameter prefix: the first 512 bytes, or the whole file.
    public static func recognise(_ prefix: [UInt8]) -> ImageFormat? { allCases.first { $0.hasSignature(prefix) } }
}

extension ImageFormat: RawRepresentable, Hashable, Codable {
    /// The name.
    public var rawValue: String { name }

    /// The format of that name; nil if there is none.
    public init?(rawValue: String) {
        guard let format = Self.allCases.first(where: { $0.name == rawValue }) else { return nil }
        self = format
    }
}

/// The size declared by a file's first bytes, read during the download.
///
/// The child reads the header again with the codec, which detects a false declaration.
package enum DeclaredSize: Sendable, Equatable {
    /// In pixels, before orientation.
    case pixels(width: Int, height: Int)
    /// More bytes are needed.
    case later
    /// The format or this file declares no size that can be read without a codec.
    case unknown

    /// Reads `bytes`, the beginning of a file of `format`.
    package init(_ bytes: UnsafeRawBufferPointer, format: ImageFormat) {
        self = format.declaredSize?(bytes) ?? .unknown
    }

    /// `later` if one of the numbers is beyond the bytes.
    init(_ width: Int?, _ height: Int?) {
        guard let width, let height else {
            self = .later
            return
        }
        self = .pixels(width: width, height: height)
    }
}

/// The format in which a variant is written.
package enum OutputFormat {
    package struct Choice: Sendable, Hashable {
        package let format: ImageFormat
        /// The requested format, if it cannot be written: no encoder, too many pixels, or too long an edge.
        package let replaced: ImageFormat?
    }

    /// The requested format, else the source's if it is kept, else PNG for alpha or frames, else JPEG.
    ///
    /// Source: SDWebImage 5.21.5, where a transformed image keeps its source's format tag, and an undefined one is
    /// written as PNG with alpha, else as JPEG.
    ///
    /// - Parameter source: nil for a coder's format, which is never written.
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

    /// The format in which images of `format` are written.
    package static func written(_ format: ImageFormat) -> ImageFormat {
        format.writtenAs.flatMap(ImageFormat.init(rawValue:)) ?? format
    }
}
