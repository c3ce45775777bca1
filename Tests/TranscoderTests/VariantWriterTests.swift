import Testing

@testable import ImageModel
@testable import Transcoder

/// The order of the work and the limit on time, with an encoder that takes a fixed time.
@Suite(.timeLimit(.minutes(5)))
struct VariantWriterTests {
    private final class Work {
        var time = Duration.zero
        var encoded: [Int?] = []
    }

    private struct FakeDecodedImage: DecodedImage {
        var work = Work()
        var drawingTime = Duration.zero

        func draw(_ number: Int, _ output: PlannedOutput) throws(CodecFailure) -> any DrawnImage {
            work.time += drawingTime
            return FakeDrawnImage(work: work, size: output.drawing.size)
        }

        func digest() throws(CodecFailure) -> ImageDigest? { nil }
    }

    /// A hundred bytes for each step of quality, 6 s for each encoding. Quality 13 fails.
    private struct FakeDrawnImage: DrawnImage {
        let work: Work
        let size: PixelSize

        var frames: Int { 1 }

        func encoded(_ encoding: Encoding, quality: Int?) throws(CodecFailure) -> EncodedFile {
            work.time += .seconds(6)
            work.encoded.append(quality)
            if quality == 13 { throw CodecFailure(message: "unlucky") }
            return try EncodedFile(copying: [UInt8](repeating: 0, count: (quality ?? 1) * 100))
        }

        func rawRGBA() throws(CodecFailure) -> EncodedFile {
            try EncodedFile(copying: [UInt8](repeating: 0, count: size.area * 4))
        }
    }

    /// The results in the order of the variants, and the qualities in the order of the encodings.
    private func write(
        _ variants: String..., within time: Duration = .seconds(20), hard: Duration = .seconds(30)
    ) throws -> (results: [Result<TranscodedVariant, TranscodeError>], encoded: [Int?]) {
        let image = FakeDecodedImage(), work = image.work
        var (plan, writer) = try writer(variants, image, within: time, hard: hard)
        writer.drawAll()
        let file = try ScratchFile()
        let output = OutputDescriptor(file.descriptor)
        var results = [Result<TranscodedVariant, TranscodeError>?](repeating: nil, count: variants.count)
        for number in plan.encodingOrder {
            results[number] = Result { () throws(TranscodeError) in try writer.write(number, to: output) }
        }
        return (results.compactMap { $0 }, work.encoded)
    }

    private func writer(
        _ variants: [String], _ image: FakeDecodedImage, within time: Duration = .seconds(20),
        hard: Duration = .seconds(30)
    ) throws -> (DecodePlan, VariantWriter) {
        let parsed = try variants.enumerated().map { try Variant(json: #"{"name":"v\#($0)",\#($1)}"#.utf8) }
        var limits = TranscodeLimits()
        limits.softTime = time
        limits.hardTime = hard
        let plan = DecodePlan(
            SourceHeader(format: .jpeg, width: 2000, height: 2000, orientation: 1), variants: parsed, scale: 1,
            limits: limits, writable: [.jpeg, .webp, .png])
        let request = ChildRequest(number: 1, operation: .transcode, limits: limits), work = image.work
        return (plan, VariantWriter(plan, image, request, started: .zero, clock: { work.time }))
    }

    private let small = #""thumbnail":{"width":100,"height":100},"quality":7"#
    private let large = #""thumbnail":{"width":1000,"height":1000},"quality":80,"keySuffix":"l""#

    @Test func `a small variant is written before the time of a large one is over`() throws {
        let (results, encoded) = try write(large, small, within: .seconds(6))
        #expect(encoded == [7])
        #expect(try results[1].get().bytes == 700)
        #expect(throws: TranscodeError.self) { try results[0].get() }
    }

    @Test func `a variant is not begun when its estimate passes what is left of the hard limit`() throws {
        let (results, encoded) = try write(large, small, hard: .seconds(6))
        #expect(encoded == [7])
        let error = #expect(throws: TranscodeError.self) { try results[0].get() }
        #expect(error?.code == .time && error?.message.contains("after 6 s") == true)
    }

    @Test func `the time of drawing and encoding is counted, also of what fails, and no other`() throws {
        let image = FakeDecodedImage(drawingTime: .seconds(1)), file = try ScratchFile()
        let failing = #""thumbnail":{"width":50,"height":50},"quality":13"#
        var (plan, writer) = try writer([small, failing], image)
        #expect(writer.codecTime == .zero)
        writer.drawAll()
        #expect(writer.codecTime == .seconds(2))
        for number in plan.encodingOrder {
            image.work.time += .seconds(1)
            let result = Result { () throws(TranscodeError) in
                try writer.write(number, to: OutputDescriptor(file.descriptor))
            }
            #expect((try? result.get()) == nil ? number == 1 : number == 0)
        }
        #expect(image.work.encoded == [13, 7] && image.work.time == .seconds(16))
        #expect(writer.codecTime == .seconds(14))
    }

    @Test func `a choice of format that runs out of time keeps the files it has`() throws {
        // The bytes are no image, so that a comparison fails after the first encoding, of quality 1. It needs libvips.
        #expect(PixelSample([]) == nil)
        let (none, tried) = try write(#"\#(large),"format":"auto","formats":["webp","jpeg"]"#, within: .seconds(6))
        #expect(tried == [1] && (try? none[0].get()) == nil)
        let (kept, encoded) = try write(#"\#(large),"format":"auto","formats":["png","webp"]"#, within: .seconds(6))
        #expect(try encoded == [nil] && kept[0].get().format == .png)
        let (both, all) = try write(#"\#(large),"format":"auto","formats":["png","webp"]"#)
        #expect(try all == [nil, 1] && both[0].get().format == .png)
    }

    @Test func `a search for a quality that runs out of time keeps the best file that fits`() throws {
        let (results, encoded) = try write("\(large),\"maxBytes\":3000", within: .seconds(12))
        #expect(encoded == [80, 40])
        #expect(throws: TranscodeError.self, "none has fitted yet") { try results[0].get() }
        let (longer, tried) = try write("\(large),\"maxBytes\":5000", within: .seconds(12))
        #expect(tried == [80, 40])
        let variant = try longer[0].get()
        #expect(variant.bytes == 4000 && variant.quality == 40 && !variant.exceedsMaxBytes)
        // One more attempt would pass the limit at which the process is killed.
        let (kept, begun) = try write("\(large),\"maxBytes\":5000", hard: .seconds(13))
        #expect(try begun == [80, 40] && kept[0].get().bytes == 4000)
    }
}
