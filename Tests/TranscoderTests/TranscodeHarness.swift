import TestSupport
import Testing

@testable import Transcoder

/// A pool of real children, which run the built program.
struct TranscodeHarness: VariantMaker {
    let pool: TranscoderPool

    init(_ adjust: (inout TranscoderPool.Configuration) -> Void = { _ in }) {
        var configuration = TranscoderPool.Configuration()
        configuration.count = 1
        configuration.executable = Products.transcoder
        // Far more than any test image takes, so that a busy machine does not cause time-outs.
        configuration.limits.softTime = .seconds(120)
        configuration.limits.hardTime = .seconds(150)
        configuration.limits.wallTime = .seconds(250)
        adjust(&configuration)
        pool = TranscoderPool(configuration: configuration)
    }

    func transcode(_ request: TranscodeRequest) async throws(TranscodeError) -> TranscodeReport {
        try await pool.transcode(request)
    }
}
