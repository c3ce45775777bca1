public import ImageModel

/// What became of one picture.
public struct TranscodeReport: Sendable, Hashable {
    /// What the header says of the original.
    public let source: SourceHeader
    /// One result per variant, in the request's order.
    public let variants: [Result<TranscodedVariant, TranscodeError>]
    /// What it looks like, in a few bytes; nil where the request wants none.
    public let digest: ImageDigest?
    /// Processor time the child spent on it.
    public let processorTime: Duration
    /// The most memory the child has held since it was started, in bytes.
    public let peakResidentBytes: Int

    package init(
        source: SourceHeader, variants: [Result<TranscodedVariant, TranscodeError>], digest: ImageDigest?,
        processorTime: Duration, peakResidentBytes: Int
    ) {
        self.source = source
        self.variants = variants
        self.digest = digest
        self.processorTime = processorTime
        self.peakResidentBytes = peakResidentBytes
    }
}

/// One variant as it was written.
public struct TranscodedVariant: Sendable, Hashable, Codable {
    /// The format of the bytes.
    public let format: ImageFormat
    /// Its size in pixels, upright; for a copy that of the original.
    public let width, height: Int
    /// The file's length.
    public let bytes: Int
    /// The original's bytes, unchanged: an animated picture is "copied, not transformed".
    public let copied: Bool
    /// The quality it was written at; nil for copies and formats without one.
    public let quality: Int?
    /// The format that was wanted, where this one was written in its place: no encoder, or too many pixels for it.
    public let replaced: ImageFormat?
    /// Whether it has more bytes than `maxBytes` allows, as no quality has fewer.
    public let exceedsMaxBytes: Bool
    /// Frames written; for a copy nil.
    public let frames: Int?

    package init(
        format: ImageFormat, width: Int, height: Int, bytes: Int, copied: Bool, quality: Int? = nil,
        replaced: ImageFormat? = nil, exceedsMaxBytes: Bool = false, frames: Int? = nil
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.bytes = bytes
        self.copied = copied
        self.quality = quality
        self.replaced = replaced
        self.exceedsMaxBytes = exceedsMaxBytes
        self.frames = frames
    }
}
