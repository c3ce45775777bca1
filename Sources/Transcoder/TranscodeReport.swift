public import ImageModel

/// The result of one request.
public struct TranscodeReport: Sendable, Hashable {
    package let source: SourceHeader
    /// One result per variant, in the request's order.
    public let variants: [Result<TranscodedVariant, TranscodeError>]
    /// Nil if `wantsDigest` is false.
    package let digest: ImageDigest?
    /// The child's processor time for the request.
    public let processorTime: Duration
    /// Peak memory of the child since it started, in bytes.
    public let peakResidentBytes: Int
    /// When the parts of the request ended; nil without a child.
    package let times: TranscodeTimes?

    package init(
        source: SourceHeader, variants: [Result<TranscodedVariant, TranscodeError>], digest: ImageDigest?,
        processorTime: Duration, peakResidentBytes: Int, times: TranscodeTimes? = nil
    ) {
        (self.source, self.variants, self.digest) = (source, variants, digest)
        (self.processorTime, self.peakResidentBytes) = (processorTime, peakResidentBytes)
        self.times = times
    }
}

/// When the parts of a request ended, by the arrival of the child's messages.
package struct TranscodeTimes: Sendable, Hashable, Codable {
    /// When the child got the request.
    package var started = ContinuousClock.now
    /// Nil if the image was not decoded.
    package var decoded: ContinuousClock.Instant?
    /// By variant; nil if not finished.
    package var finished: [ContinuousClock.Instant?] = []
}

/// One written variant.
public struct TranscodedVariant: Sendable, Hashable, Codable {
    /// The format of the bytes.
    public let format: ImageFormat
    /// In pixels, upright; for a copy the original's.
    public let width, height: Int
    /// The file's length.
    public let bytes: Int
    /// Whether the output has the original's bytes: an animation that is copied instead of transformed.
    public let copied: Bool
    /// The quality; nil for copies and formats without one.
    public var quality: Int?
    /// The structural similarity to the drawn pixels, if requested; may be below the target at the highest quality.
    public var ssim: Double?
    /// The requested format, if another was written because there is no encoder or the image is too large for it.
    public var replaced: ImageFormat?
    /// Whether the output exceeds `maxBytes` at every quality.
    public var exceedsMaxBytes = false
    /// Frames written; nil for a copy.
    public var frames: Int?

    package init(
        format: ImageFormat, width: Int, height: Int, bytes: Int, copied: Bool, quality: Int? = nil,
        ssim: Double? = nil, replaced: ImageFormat? = nil, exceedsMaxBytes: Bool = false, frames: Int? = nil
    ) {
        (self.format, self.width, self.height, self.bytes, self.copied) = (format, width, height, bytes, copied)
        (self.quality, self.ssim, self.replaced) = (quality, ssim, replaced)
        (self.exceedsMaxBytes, self.frames) = (exceedsMaxBytes, frames)
    }
}
