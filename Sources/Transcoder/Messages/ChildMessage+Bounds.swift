internal import ImageModel

/// Limits of a child's messages. The worker sums the numbers and stores them with the job, so a compromised child could
/// crash the worker or make the database refuse the numbers.
extension ChildMessage.Content {
    /// Whether all numbers and texts are plausible measurements.
    var isInBounds: Bool {
        switch self {
        case .wantsMemory(let bytes): ChildReply.bytes.contains(bytes)
        case .decoded(let header): header.isInBounds
        case .finished(_, let outcome): outcome.isInBounds
        case .reply(let reply): reply.isInBounds
        }
    }
}

extension ChildReply {
    fileprivate static let bytes = 0...(1 << 46)
    private static let times = Duration.zero...Duration.seconds(7 * 86_400)

    fileprivate var isInBounds: Bool {
        (failure?.isInBounds ?? true) && (header?.isInBounds ?? true) && outcomes.allSatisfy(\.isInBounds)
            && (plan?.isInBounds ?? true) && (digest?.isInBounds ?? true)
            && Self.times.contains(processorTime) && Self.times.contains(codecTime)
            && Self.bytes.contains(residentBytes) && Self.bytes.contains(peakResidentBytes)
    }
}

extension ChildReply.Outcome {
    fileprivate var isInBounds: Bool {
        guard case .made(let variant) = self else { return error?.isInBounds ?? true }
        return SourceHeader.counts.contains(variant.width) && SourceHeader.counts.contains(variant.height)
            && ChildReply.bytes.contains(variant.bytes) && SourceHeader.counts.contains(variant.frames ?? 1)
            && (variant.ssim ?? 1).isFinite
    }
}

extension TranscodeError {
    /// The settings become part of a command that people run, and a child that reads an image starts no coder.
    fileprivate var isInBounds: Bool { needs.count <= 8 && needs.allSatisfy(\.isOfTranscoder) && profile == nil }
}

extension SourceHeader {
    /// Sides in pixels, and frames: the range of the database's integers.
    fileprivate static let counts = 1...Int(Int32.max)

    fileprivate var isInBounds: Bool {
        Self.counts.contains(width) && Self.counts.contains(height) && Self.counts.contains(frames)
            && (1...8).contains(orientation) && coder.map(ImageCoder.isName) ?? true
    }
}

extension PlanSummary {
    /// At most a day, in milliseconds: `lines` rounds the time to a whole number.
    private static let times = 0.0...86_400_000

    fileprivate var isInBounds: Bool {
        source.isInBounds && (1...8).contains(shrink) && SourceHeader.counts.contains(decodedWidth)
            && SourceHeader.counts.contains(decodedHeight) && SourceHeader.counts.contains(frames)
            && ChildReply.bytes.contains(memoryBytes) && Self.times.contains(milliseconds)
    }
}

extension ImageDigest {
    fileprivate var isInBounds: Bool {
        [thumbHash, blurHash, averageColor, dominantColor, perceptualHash].allSatisfy { text in
            text.utf8.count <= 128 && text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
        } && SourceHeader.counts.contains(frames)
    }
}
