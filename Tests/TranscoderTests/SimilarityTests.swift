import ImageModel
import Testing

@testable import Codecs
@testable import Transcoder

/// Quality by structural similarity.
@Suite(.timeLimit(.minutes(5)))
struct SimilarityTests {
    private let harness = PictureHarness()
    private let photo = SyntheticImage.png(160, 120) { x, y in
        [UInt8((x * 7 + y * 3) % 256), UInt8((x * y) / 80 % 256), UInt8((x ^ y) * 2 % 256), 255]
    }

    private func pixels(_ color: (Int, Int) -> [Int]) -> [UInt8] {
        (0..<21 * 14).flatMap { (color($0 % 21, $0 / 21) + [255]).map { UInt8($0) } }
    }

    /// The expected values were computed with numpy from the article's formula.
    @Test func `the similarity is the published one`() throws {
        let one = pixels { x, y in [x * 12 % 256, y * 18 % 256, x * y % 256] }
        let coarse = pixels { x, y in [x * 12 % 256 / 16 * 16, y * 18 % 256 / 16 * 16, x * y % 256 / 32 * 32] }
        let negative = pixels { x, y in [255 - x * 12 % 256, 255 - y * 18 % 256, 255 - x * y % 256] }
        let measure = one.withUnsafeBytes { StructuralSimilarity($0, width: 21, height: 14) }
        func value(_ other: [UInt8]) throws -> Double { try #require(other.withUnsafeBytes(measure.value)) }
        #expect(try value(one) == 1)
        #expect(try abs(value(coarse) - 0.988448) < 0.0001)
        #expect(try abs(value(negative) + 0.765715) < 0.0001)
        #expect(one.dropLast(4).withUnsafeBytes(measure.value) == nil)
    }

    private func similarity(_ file: [UInt8], to other: [UInt8]) throws -> Double {
        func raw(_ file: [UInt8]) throws -> [UInt8] {
            let sample = try #require(PixelSample(file))
            return (0..<120).flatMap { y in (0..<160).flatMap { sample.pixel($0, y).map { UInt8($0) } } }
        }
        let reference = try raw(other), made = try raw(file)
        let measure = reference.withUnsafeBytes { StructuralSimilarity($0, width: 160, height: 120) }
        return try #require(made.withUnsafeBytes(measure.value))
    }

    @Test(arguments: ["jpeg", "webp", "avif"])
    func `the lowest quality of the wanted similarity is written`(format: String) async throws {
        let output = try await harness.make(photo, #""format":"\#(format)","ssim":0.95"#)
        let made = try output.made(), quality = try #require(made.quality)
        #expect(try similarity(output.files[0], to: photo) >= 0.95)
        #expect(try abs(#require(made.ssim) - similarity(output.files[0], to: photo)) < 0.001)
        #expect(quality > 1)
        #expect(quality < 95)
        let lower = try await harness.make(photo, #""keySuffix":"x","format":"\#(format)","quality":\#(quality - 1)"#)
        #expect(try similarity(lower.files[0], to: photo) < 0.95)
    }

    @Test func `the given quality is the highest, also where it is not similar enough`() async throws {
        let output = try await harness.make(photo, #""format":"jpeg","ssim":0.9999,"quality":40"#)
        let made = try output.made()
        #expect(made.quality == 40)
        #expect(made.ssim.map { $0 < 0.9999 } == true)
    }

    @Test func `transparency is compared on the background`() async throws {
        let clear = SyntheticImage.png(64, 64) { x, y in [UInt8(x * 4), UInt8(y * 4), 0, x < 32 ? 255 : 0] }
        let output = try await harness.make(
            clear, ##""format":"jpeg","ssim":0.9,"background":"#ff204060""##, #""format":"webp","ssim":0.9"#)
        for index in 0..<2 { #expect(try #require(output.made(index).ssim) >= 0.9) }
    }

    @Test func `the similarity is part of key, JSON and plan`() throws {
        let text = #"{"format":"webp","name":"v","ssim":0.95}"#
        let variant = try Variant(json: text.utf8)
        #expect(variant.keySuffixes == ["LarderQuality(ssim=0.950000)"])
        #expect(variant.canonicalJSON == text)
        let header = SourceHeader(format: .jpeg, width: 400, height: 400)
        let plan = DecodePlan(header, variants: [variant], scale: 1, limits: TranscodeLimits(), writable: [.webp])
        #expect(plan.path == .libvips)
        #expect(
            PlanSummary(plan, header, variants: [variant], copies: [false]).lines[2]
                .hasSuffix("→ webp, quality 95, ssim 0.95, 400×400"))
    }

    @Test(arguments: [
        (#""format":"png","ssim":0.9"#, "ssim: is not a field of png"),
        (#""ssim":2"#, "ssim: must be from 0.5 to 0.9999"),
        (#""ssim":0.9,"maxBytes":100"#, "ssim: contradicts maxBytes"),
        (#""format":"webp","ssim":0.9,"encode":{"lossless":true}"#, "ssim: contradicts lossless"),
        (#""ssim":0.9,"animation":"frames""#, "ssim: is for one frame"),
    ])
    func `a contradiction is refused with its path`(fields: String, expected: String) {
        let error = #expect(throws: VariantError.self) { try Variant(json: #"{"name":"v",\#(fields)}"#.utf8) }
        #expect(error?.description == "$.\(expected)")
    }
}
