import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

/// The order of the work and the limit on time, with drawing and an encoder that take a fixed time.
@Suite(.timeLimit(.minutes(5)))
struct VariantWriterTests {
    private final class Work {
        var time = Duration.zero
        var drawn: [Int] = []
        var encoded: [Int?] = []
        /// After each variant, the outputs that are held.
        var held: [Set<Int>] = []
    }

    private struct FakeDecodedImage: DecodedImage {
        let work = Work()
        var drawingTimes: [Int: Duration] = [:]
        /// Whether the failure of a drawing that fails is by a rule.
        var failures: [Int: Bool] = [:]

        func draw(_ number: Int, _ output: PlannedOutput) throws(CodecFailure) -> any DrawnImage {
            work.time += drawingTimes[number] ?? .zero
            work.drawn.append(number)
            if let isByRule = failures[number] { throw CodecFailure(message: "unlucky", isByRule: isByRule) }
            return FakeDrawnImage(work: work, size: output.drawing.size)
        }

        func forget(allBut progress: OutputProgress) { work.held.append(progress.held) }

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
        _ variants: String..., from image: FakeDecodedImage = FakeDecodedImage(), within time: Duration = .seconds(20),
        hard: Duration = .seconds(30)
    ) throws -> (results: [Result<TranscodedVariant, TranscodeError>], encoded: [Int?]) {
        var (plan, writer) = try writer(variants, image, within: time, hard: hard)
        return (try write(plan, &writer), image.work.encoded)
    }

    private func write(
        _ plan: DecodePlan, _ writer: inout VariantWriter
    ) throws -> [Result<TranscodedVariant, TranscodeError>] {
        let file = try ScratchFile()
        let output = OutputDescriptor(file.descriptor)
        var results = [Result<TranscodedVariant, TranscodeError>?](repeating: nil, count: plan.outputs.count)
        for number in plan.encodingOrder {
            results[number] = Result { () throws(TranscodeError) in try writer.write(number, to: output) }
        }
        return results.compactMap { $0 }
    }

    private func codes(_ results: [Result<TranscodedVariant, TranscodeError>]) -> [TranscodeError.Code?] {
        results.map { if case .failure(let error) = $0 { error.code } else { nil } }
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
        let work = image.work
        return (plan, VariantWriter(plan, image, limits, started: .zero, clock: { work.time }))
    }

    private let small = #""thumbnail":{"width":100,"height":100},"quality":7"#
    private let large = #""thumbnail":{"width":1000,"height":1000},"quality":80,"keySuffix":"l""#

    @Test func `a small variant is written before the time of a large one is over`() throws {
        let (results, encoded) = try write(large, small, within: .seconds(6))
        #expect(encoded == [7])
        #expect(try results[1].get().bytes == 700)
        #expect(throws: TranscodeError.self) { try results[0].get() }
    }

    @Test func `a variant is not begun when its estimate passes the rest of the hard limit`() throws {
        let (results, encoded) = try write(large, small, hard: .seconds(6))
        #expect(encoded == [7])
        let error = #expect(throws: TranscodeError.self) { try results[0].get() }
        #expect(error?.code == .time)
        #expect(error?.message.contains("after 6 s") == true)
    }

    private func trimmed(_ threshold: Int) -> String {
        #""trim":{"threshold":\#(threshold)},"thumbnail":{"width":400,"height":400}"#
    }

    @Test func `drawing that takes long does not keep a small variant from being made`() throws {
        let image = FakeDecodedImage(drawingTimes: [0: .seconds(8), 1: .seconds(8), 2: .seconds(8)])
        let plain = #""thumbnail":{"width":200,"height":200}"#
        let (results, encoded) = try write(trimmed(1), trimmed(2), trimmed(3), plain, from: image)
        #expect(image.work.drawn == [3, 0])
        #expect(encoded.count == 2)
        #expect(codes(results) == [nil, .time, .time, nil])
    }

    @Test func `a variant is not drawn when its estimate passes the rest of the hard limit`() throws {
        // To find the border of four megapixels may take 1.4 s.
        let image = FakeDecodedImage()
        let (results, _) = try write(trimmed(1), small, from: image, hard: .seconds(7))
        #expect(image.work.drawn == [1])
        #expect(codes(results) == [.time, nil])
    }

    @Test func `a variant whose drawing passed the soft limit is encoded while the hard one leaves time`() throws {
        let slow = FakeDecodedImage(drawingTimes: [0: .seconds(25)])
        #expect(try codes(write(small, from: slow).results) == [nil])
        let slower = FakeDecodedImage(drawingTimes: [0: .seconds(30)])
        let (results, encoded) = try write(small, from: slower)
        #expect(codes(results) == [.time])
        #expect(encoded.isEmpty)
        let search = FakeDecodedImage(drawingTimes: [0: .seconds(20)])
        #expect(try codes(write("\(small),\"maxBytes\":800", from: search).results) == [nil])
    }

    @Test func `a larger variant is drawn once, before the smaller one that is encoded first`() throws {
        let image = FakeDecodedImage()
        let costly =
            #""thumbnail":{"width":150,"height":150},"format":"webp","encode":{"effort":6},"maxBytes":9000,"quality":90"#
        let (results, encoded) = try write(large, small, costly, from: image)
        #expect(codes(results) == [nil, nil, nil])
        #expect(image.work.drawn == [0, 1, 2])
        #expect(encoded == [7, 80, 90])
        // The first is held as long as the last is to be drawn from it.
        #expect(image.work.held == [[0], [0], []])
    }

    @Test func `a variant whose start cannot be drawn is drawn without it`() throws {
        for isByRule in [false, true] {
            let image = FakeDecodedImage(failures: [0: isByRule])
            var (plan, writer) = try writer([large, small], image)
            #expect(try codes(write(plan, &writer)) == [.transform, nil])
            #expect(image.work.drawn == [0, 1])
            #expect(writer.failedDrawings == (isByRule ? [] : [0]))
        }
    }

    @Test func `the time of drawing and encoding is counted, also of what fails, and no other`() throws {
        let image = FakeDecodedImage(drawingTimes: [0: .seconds(1), 1: .seconds(1)]), file = try ScratchFile()
        let failing = #""thumbnail":{"width":50,"height":50},"quality":13"#
        var (plan, writer) = try writer([small, failing], image)
        #expect(writer.codecTime == .zero)
        for number in plan.encodingOrder {
            image.work.time += .seconds(1)
            let result = Result { () throws(TranscodeError) in
                try writer.write(number, to: OutputDescriptor(file.descriptor))
            }
            #expect((try? result.get()) == nil ? number == 1 : number == 0)
        }
        #expect(image.work.encoded == [13, 7])
        #expect(image.work.time == .seconds(16))
        #expect(writer.codecTime == .seconds(14))
    }

    @Test func `a choice of format that runs out of time keeps the files it has`() throws {
        // The bytes are no image, so that a comparison fails after the first encoding, of quality 1. It needs libvips.
        #expect(PixelSample([]) == nil)
        let (none, tried) = try write(#"\#(large),"format":"auto","formats":["webp","jpeg"]"#, within: .seconds(6))
        #expect(tried == [1])
        #expect((try? none[0].get()) == nil)
        let (kept, encoded) = try write(#"\#(large),"format":"auto","formats":["png","webp"]"#, within: .seconds(6))
        #expect(encoded == [nil])
        #expect(try kept[0].get().format == .png)
        let (both, all) = try write(#"\#(large),"format":"auto","formats":["png","webp"]"#)
        #expect(all == [nil, 1])
        #expect(try both[0].get().format == .png)
    }

    @Test func `a search for a quality that runs out of time keeps the best file that fits`() throws {
        let (results, encoded) = try write("\(large),\"maxBytes\":3000", within: .seconds(12))
        #expect(encoded == [80, 40])
        #expect(throws: TranscodeError.self, "none has fitted yet") { try results[0].get() }
        let (longer, tried) = try write("\(large),\"maxBytes\":5000", within: .seconds(12))
        #expect(tried == [80, 40])
        let variant = try longer[0].get()
        #expect(variant.bytes == 4000)
        #expect(variant.quality == 40)
        #expect(!variant.exceedsMaxBytes)
        // One more attempt would pass the limit at which the process is killed.
        let (kept, begun) = try write("\(large),\"maxBytes\":5000", hard: .seconds(13))
        #expect(begun == [80, 40])
        #expect(try kept[0].get().bytes == 4000)
    }
}
