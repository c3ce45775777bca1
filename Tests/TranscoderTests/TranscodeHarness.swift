import Foundation
import Glibc
import ImageModel
import Testing

@testable import Transcoder

/// A pool of real children, which run the built program.
struct TranscodeHarness: Sendable {
    let pool: TranscoderPool

    init(_ adjust: (inout TranscoderPool.Configuration) -> Void = { _ in }) {
        var configuration = TranscoderPool.Configuration()
        configuration.count = 1
        let products = URL(fileURLWithPath: Bundle.module.bundlePath).deletingLastPathComponent()
        configuration.executable = products.appendingPathComponent("larder").path
        // Far more than any test image takes, so that a busy machine does not cause time-outs.
        configuration.limits.softTime = .seconds(120)
        configuration.limits.hardTime = .seconds(150)
        configuration.limits.wallTime = .seconds(250)
        adjust(&configuration)
        pool = TranscoderPool(configuration: configuration)
    }

    struct Output {
        let report: TranscodeReport
        let files: [[UInt8]]

        func made(_ index: Int = 0) throws -> TranscodedVariant { try report.variants[index].get() }

        func sample(_ index: Int = 0) throws -> PixelSample { try #require(PixelSample(files[index])) }
    }

    /// Transcodes an image. Variants are given as the JSON between the braces, without the name.
    func make(
        _ image: [UInt8], _ variants: String..., scale: Double = 1, options: TranscodeRequest.Options = [],
        scaleDownBytes: Int? = nil
    ) async throws -> Output {
        let parsed = try variants.enumerated().map { index, fields in
            try Variant(json: #"{"name":"v\#(index)",\#(fields)}"#.utf8)
        }
        let source = try ScratchFile(image)
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in parsed {
            let output = try ScratchFile()
            descriptors.append(dup(output.descriptor))
        }
        var request = TranscodeRequest(
            source: source.descriptor, variants: parsed, outputs: descriptors, scale: scale,
            options: options)
        request.scaleDownBytes = scaleDownBytes
        let report = try await pool.transcode(request)
        return Output(report: report, files: descriptors.map(Self.content))
    }

    static func content(_ descriptor: Int32) -> [UInt8] {
        let length = Int(lseek(descriptor, 0, SEEK_END))
        var bytes = [UInt8](repeating: 0, count: length)
        let read = pread(descriptor, &bytes, length, 0)
        return Array(bytes.prefix(max(0, read)))
    }

    /// The error of transcoding an image; nil when it succeeds.
    func refusal(_ image: [UInt8], _ variant: String = #""keySuffix":"x""#) async throws -> TranscodeError? {
        do {
            _ = try await make(image, variant)
            return nil
        } catch let error as TranscodeError {
            return error
        }
    }
}
