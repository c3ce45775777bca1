import Foundation
import Glibc
import ImageModel
import TestTranscoder
import Testing
import Transcoder

/// Makes the variants of a test's image.
protocol VariantMaker: Sendable {
    func transcode(_ request: TranscodeRequest) async throws(TranscodeError) -> TranscodeReport
}

/// Makes variants in this process; `TranscodeHarness` makes them in real children.
struct PictureHarness: VariantMaker {
    let transcoder: DirectTranscoder

    init(_ adjust: (inout TranscodeLimits) -> Void = { _ in }) {
        var limits = TranscodeLimits()
        // Processor time is the whole process's, in which other tests run.
        (limits.softTime, limits.hardTime) = (.seconds(3_600), .seconds(3_600))
        adjust(&limits)
        transcoder = DirectTranscoder(limits: limits)
    }

    func transcode(_ request: TranscodeRequest) async throws(TranscodeError) -> TranscodeReport {
        try await transcoder.transcode(failure: { $0 }, open: { () throws(TranscodeError) in request })
    }
}

/// A report with the files that were made.
struct TranscodeOutput {
    let report: TranscodeReport
    let files: [[UInt8]]

    func made(_ index: Int = 0) throws -> TranscodedVariant { try report.variants[index].get() }

    func sample(_ index: Int = 0) throws -> PixelSample { try #require(PixelSample(files[index])) }
}

extension VariantMaker {
    /// Transcodes an image. Variants are given as the JSON between the braces, without the name.
    func make(
        _ image: [UInt8], _ variants: String..., scale: Double = 1, options: TranscodeRequest.Options = [],
        scaleDownBytes: Int? = nil
    ) async throws -> TranscodeOutput {
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
        let report = try await transcode(request)
        return TranscodeOutput(report: report, files: descriptors.map(ScratchFile.content))
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
