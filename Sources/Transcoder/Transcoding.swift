/// Makes the variants of images: a `TranscoderPool`, or a replacement.
public protocol Transcoding: Sendable {
    /// Maximum concurrent images.
    var count: Int { get }

    /// Makes the variants of one image, as `TranscoderPool.transcode(failure:open:)` does.
    func transcode<Failure: Error>(
        failure: (TranscodeError) -> Failure, open: () throws(Failure) -> TranscodeRequest
    ) async throws(Failure) -> TranscodeReport
}

extension TranscoderPool: Transcoding {}
