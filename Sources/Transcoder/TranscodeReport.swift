/// What became of one picture.
public struct TranscodeReport: Sendable, Hashable {
    /// What the header says of the original.
    public let source: SourceHeader
    /// One result per variant, in the request's order.
    public let variants: [Result<TranscodedVariant, TranscodeError>]
    /// Processor time the child spent on it.
    public let processorTime: Duration
    /// The most memory the child has held since it was started, in bytes.
    public let peakResidentBytes: Int

    package init(
        source: SourceHeader, variants: [Result<TranscodedVariant, TranscodeError>], processorTime: Duration,
        peakResidentBytes: Int
    ) {
        self.source = source
        self.variants = variants
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
}
