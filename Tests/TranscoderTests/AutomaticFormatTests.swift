import ImageModel
import Testing

@testable import Codecs
@testable import Transcoder

/// `"format": "auto"`: the smallest of several files of equal similarity.
@Suite(.timeLimit(.minutes(5)))
struct AutomaticFormatTests {
    private let harness = PictureHarness()
    private let photo = SyntheticImage.png(160, 120) { x, y in
        [UInt8((x * 7 + y * 3) % 256), UInt8((x * y) / 80 % 256), UInt8((x ^ y) * 2 % 256), 255]
    }
    /// Two colours in squares, which a PNG holds in few bytes.
    private let squares = SyntheticImage.png(160, 120) { x, y in
        (x / 8 + y / 8) % 2 == 0 ? [255, 255, 255, 255] : [200, 0, 40, 255]
    }
    private let clear = SyntheticImage.png(64, 64) { x, y in [UInt8(x * 4), UInt8(y * 4), 0, x < 32 ? 255 : 0] }

    private func variant(_ fields: String) throws -> Variant {
        try Variant(json: #"{"name":"v","format":"auto",\#(fields)}"#.utf8)
    }

    private func plan(
        _ variants: Variant..., width: Int = 400, alpha: Bool = false,
        writable: Set<ImageFormat> = [.jpeg, .png, .webp, .avif]
    ) -> DecodePlan {
        var header = SourceHeader(format: .png, width: width, height: 400)
        header.hasAlpha = alpha
        return DecodePlan(header, variants: variants, scale: 1, limits: TranscodeLimits(), writable: writable)
    }

    @Test func `the smallest of the files with the wanted similarity is written`() async throws {
        let formats = ["avif", "webp", "jpeg", "jxl"]
        let each = try await harness.make(
            photo, #""format":"avif","ssim":0.93"#, #""format":"webp","ssim":0.93"#, #""format":"jpeg","ssim":0.93"#,
            #""format":"jxl","ssim":0.93"#)
        let smallest = try #require(formats.indices.min { each.files[$0].count < each.files[$1].count })
        let output = try await harness.make(
            photo, #""format":"auto","formats":["jpeg","jxl","avif","webp"],"ssim":0.93"#)
        let made = try output.made()
        #expect(made.format.name == formats[smallest])
        #expect(output.files[0].count == each.files[smallest].count)
        #expect(try made.quality == each.made(smallest).quality)
        #expect(try made.ssim == each.made(smallest).ssim)
        #expect(ImageFormat.recognise(output.files[0]) == made.format)
        #expect(made.replaced == nil)
        #expect(!made.copied)
    }

    @Test func `a PNG is chosen where it is the smallest, with every pixel`() async throws {
        let output = try await harness.make(squares, #""format":"auto","formats":["jpeg","webp","png"],"ssim":0.99"#)
        let made = try output.made()
        #expect(made.format == .png)
        #expect(made.ssim == 1)
        #expect(made.quality == nil)
        #expect(try output.sample().maxDifference(from: #require(PixelSample(squares))) == 0)
    }

    @Test func `the default formats and similarity are the documented ones`() async throws {
        let output = try await harness.make(
            photo, #""format":"auto""#, #""format":"auto","formats":["avif","webp","jpeg"],"ssim":0.96"#)
        #expect(output.files[0] == output.files[1])
        #expect(try #require(output.made().ssim) >= 0.96)
    }

    @Test func `transparency is kept by a format that has it, else drawn on the background`() async throws {
        let output = try await harness.make(
            clear, #""format":"auto","formats":["jpeg","webp"],"ssim":0.9"#,
            ##""format":"auto","formats":["jpeg"],"background":"#ff00ff00","ssim":0.9"##)
        #expect(try output.made(0).format == .webp)
        #expect(try output.sample(0).pixel(60, 30)[3] == 0)
        #expect(try output.made(1).format == .jpeg)
        #expect(isClose(try output.sample(1).pixel(60, 30), [0, 255, 0, 255], within: 30))
    }

    @Test func `nothing similar enough leaves the most similar file`() async throws {
        let output = try await harness.make(
            photo, #""format":"auto","formats":["jpeg","webp"],"ssim":0.9999,"quality":20"#,
            #""format":"jpeg","ssim":0.9999,"quality":20"#, #""format":"webp","ssim":0.9999,"quality":20"#)
        let similar = try (0...2).map { try #require(output.made($0).ssim) }
        #expect(similar[0] < 0.9999)
        #expect(similar[0] == max(similar[1], similar[2]))
    }

    @Test func `an animation shows its first frame at a thumbnail's size`() async throws {
        let output = try await harness.make(
            try Fixtures.image("animated.gif"), #""format":"auto","thumbnail":{"width":20,"height":20}"#)
        #expect(try output.made().frames == 1)
        #expect(try output.made().width == 20)
        #expect(try !output.made().copied)
    }

    @Test func `the plan sums the formats, cheapest first, and names them`() throws {
        let automatic = try variant(#""formats":["avif","webp","jpeg"],"ssim":0.95"#)
        let made = plan(automatic)
        let one = try #require(try? made.outputs[0].get())
        #expect(one.encoding.all.map(\.format) == [.jpeg, .avif, .webp])
        let single = try ["avif", "webp", "jpeg"].map {
            plan(try Variant(json: #"{"name":"v","format":"\#($0)","ssim":0.95}"#.utf8))
        }
        let margin = ImageFormat.png.decoding.margin
        func encoding(_ plan: DecodePlan) -> Duration { plan.processorTime - plan.decodingTime / margin }
        let sum = single.reduce(Duration.zero) { $0 + encoding($1) }
        // Each of the three has drawing and a millisecond of its own.
        #expect(encoding(made) <= sum)
        #expect(encoding(made) * 10 > sum * 9)
        let header = SourceHeader(format: .png, width: 400, height: 400)
        let summary = PlanSummary(made, header, variants: [automatic], copies: [false])
        #expect(
            summary.lines[2].hasSuffix("→ the smallest of jpeg, avif, webp, quality 95, ssim 0.95, 400×400"),
            "\(summary.lines[2])")
        #expect(summary.variants[0].formats == [.jpeg, .avif, .webp] && summary.variants[0].format == nil)
    }

    @Test func `formats that cannot be written are left out, and one of them is reported when none can`() throws {
        let variant = try variant(#""formats":["avif","webp"]"#)
        let large = plan(variant, width: 50_000).outputs
        #expect(throws: TranscodeError.self) { try large[0].get() }
        let without = try plan(variant, writable: [.jpeg, .png, .webp]).outputs[0].get().encoding
        #expect(without.format == .webp)
        #expect(without.others.isEmpty)
        #expect(without.replaced == nil)
        let none = try plan(variant, alpha: true, writable: [.jpeg, .png]).outputs[0].get().encoding
        #expect(none.format == .png)
        #expect(none.replaced == .avif)
        #expect(none.others.isEmpty)
    }

    @Test(arguments: [
        (#""keySuffix":"x""#, "LarderFormat(avif,webp,jpeg)-x"), (#""formats":["png","jxl"]"#, "LarderFormat(png,jxl)"),
        (
            #""ssim":0.9,"transform":[{"type":"blur","radius":5}]"#,
            "SDImageBlurTransformer(5.000000)-LarderFormat(avif,webp,jpeg)-LarderQuality(ssim=0.900000)"
        ),
    ])
    func `the key names the formats in their order`(fields: String, key: String) throws {
        let variant = try variant(fields)
        #expect(variant.keySuffixes == [key])
        #expect(try Variant(json: variant.canonicalJSON.utf8) == variant)
        #expect(variant.canonicalJSON.contains(#""formats":["#))
    }

    @Test(arguments: [
        (#""format":"auto","encode":{"effort":3}"#, "encode: needs one format"),
        (#""format":"auto","maxBytes":9"#, "maxBytes: contradicts format auto"),
        (#""format":"auto","animation":"frames""#, "animation: needs one format; auto is for one frame"),
        (#""format":"auto","formats":[]"#, "formats: must not be empty"),
        (#""format":"auto","formats":"avif""#, "formats: must be a list"),
        (#""format":"auto","formats":["avif","gif"]"#, "formats[1]: must be one of jpeg, png, webp, avif, heic, jxl"),
        (#""format":"auto","formats":["avif","jpeg","avif"]"#, "formats[2]: avif is named twice"),
        (#""format":"auto","formats":[1,2,3,4,5,6,7]"#, "formats: has 7 formats; the limit is 6"),
        (#""format":"jpeg","formats":["avif"]"#, "formats: needs format auto"),
        (#""formats":["avif"]"#, "formats: needs format auto"),
    ])
    func `a contradiction is refused with its path`(fields: String, expected: String) {
        let error = #expect(throws: VariantError.self) { try Variant(json: #"{"name":"v",\#(fields)}"#.utf8) }
        #expect(error?.description == "$.\(expected)")
    }
}
