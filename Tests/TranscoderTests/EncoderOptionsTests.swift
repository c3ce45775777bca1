import ImageModel
import Testing

@testable import Codecs
@testable import Transcoder

/// The field `encode` of a variant, on both paths.
@Suite(.timeLimit(.minutes(5)))
struct EncoderOptionsTests {
    private let harness = PictureHarness()
    private let withoutPlanes = PictureHarness { $0.allowsPlanes = false }

    /// With enough detail and colour for every setting to matter; opaque.
    private let photo: [UInt8] = {
        var rows: [UInt8] = []
        for y in 0..<120 {
            rows.append(0)
            for x in 0..<160 { rows += [UInt8((x * 7 + y * 3) % 256), UInt8(x * y % 256), UInt8((x ^ y) * 2 % 256)] }
        }
        return SyntheticImage.png(SyntheticImage.big(160) + SyntheticImage.big(120) + [8, 2, 0, 0, 0], rows)
    }()

    /// The file of the photo as written with a format and settings, on both paths.
    private func files(_ format: String, _ encode: String) async throws -> [[UInt8]] {
        let variant = #""format":"\#(format)","encode":\#(encode)"#
        return [
            try await harness.make(photo, variant).files[0], try await withoutPlanes.make(photo, variant).files[0],
        ]
    }

    /// The marker and the first bytes of a JPEG's frame header: depth, height, width, components, and then identifier,
    /// sampling and table of each.
    private func frameHeader(_ jpeg: [UInt8]) throws -> (marker: UInt8, content: [UInt8]) {
        let start = try #require(
            jpeg.indices.dropLast(20).first { jpeg[$0] == 0xFF && [0xC0, 0xC2].contains(jpeg[$0 + 1]) })
        return (jpeg[start + 1], Array(jpeg[(start + 4)..<(start + 19)]))
    }

    @Test(arguments: [("4:2:0", 95, UInt8(0x22)), ("4:4:4", 60, 0x11)])
    func `the file has the chromaSubsampling asked of a JPEG, at any quality`(
        text: String, quality: Int, sampling: UInt8
    ) async throws {
        for file in try await files("jpeg", #"{"chromaSubsampling":"\#(text)"},"quality":\#(quality)"#) {
            #expect(try frameHeader(file).content[7] == sampling)
        }
    }

    @Test func `a progressive JPEG has several scans of the same pixels`() async throws {
        let plain = try await files("jpeg", #"{"progressive":false}"#)
        for (file, plain) in zip(try await files("jpeg", #"{"progressive":true}"#), plain) {
            #expect(try frameHeader(file).marker == 0xC2)
            #expect(try frameHeader(plain).marker == 0xC0)
            let (made, other) = (try #require(PixelSample(file)), try #require(PixelSample(plain)))
            for x in stride(from: 0, to: 160, by: 7) { #expect(made.pixel(x, 60) == other.pixel(x, 60)) }
        }
    }

    @Test func `without optimizeCoding a JPEG has the standard's tables and the same pixels`() async throws {
        // ITU-T T.81, K.3: the luma DC table's counts.
        let standard: [UInt8] = [0xFF, 0xC4, 0, 31, 0, 0, 1, 5, 1, 1, 1, 1, 1, 1]
        func hasStandard(_ file: [UInt8]) -> Bool {
            file.indices.dropLast(standard.count).contains { file[$0...].starts(with: standard) }
        }
        let optimised = try await files("jpeg", #"{"optimizeCoding":true}"#)
        for (file, optimised) in zip(try await files("jpeg", #"{"optimizeCoding":false}"#), optimised) {
            #expect(hasStandard(file))
            #expect(!hasStandard(optimised))
            #expect(file.count > optimised.count)
            let (made, other) = (try #require(PixelSample(file)), try #require(PixelSample(optimised)))
            #expect(made.pixel(80, 60) == other.pixel(80, 60))
        }
    }

    @Test func `a lossless WebP has every pixel, and a nearly lossless one similar ones`() async throws {
        let original = try #require(PixelSample(photo))
        let lossless = try await files("webp", #"{"lossless":true},"maxBytes":10"#)
        let near = try await files("webp", #"{"nearLossless":true},"quality":20"#)
        for (lossless, near) in zip(lossless, near) {
            for file in [lossless, near] {
                #expect(file.indices.dropLast(4).contains { file[$0...].starts(with: "VP8L".utf8) })
            }
            #expect(near != lossless)
            let (exact, close) = (try #require(PixelSample(lossless)), try #require(PixelSample(near)))
            for x in 0..<160 {
                #expect(exact.pixel(x, 33) == original.pixel(x, 33))
                #expect(isClose(close.pixel(x, 33), original.pixel(x, 33), within: 32))
            }
        }
    }

    @Test func `a lossless variant has no quality, and no limit on bytes changes it`() async throws {
        let output = try await harness.make(
            photo, #""format":"webp","encode":{"lossless":true},"maxBytes":10,"quality":5"#)
        #expect(try output.made().quality == nil)
        #expect(try output.made().exceedsMaxBytes)
    }

    @Test(arguments: [("webp", 0, 6), ("avif", 0, 4), ("gif", 1, 10)])
    func `effort changes the bytes and not the picture`(format: String, low: Int, high: Int) async throws {
        let quick = try await files(format, #"{"effort":\#(low)}"#),
            slow = try await files(format, #"{"effort":\#(high)}"#)
        for (quick, slow) in zip(quick, slow) {
            #expect(quick != slow)
            #expect(ImageFormat.recognise(slow)?.name == format)
            #expect(try #require(PixelSample(quick)).width == PixelSample(slow)?.width)
        }
    }

    @Test func `effort 4 of WebP is the default on both paths`() async throws {
        #expect(try await files("webp", #"{"effort":4}"#) == files("webp", "{},\"keySuffix\":\"x\""))
    }

    @Test func `chromaSubsampling of an AVIF keeps or halves the colours' resolution`() async throws {
        // Columns of red and blue, two pixels wide with an odd start.
        let stripes = SyntheticImage.png(64, 64) { x, _ in (x + 1) / 2 % 2 == 0 ? [255, 0, 0, 255] : [0, 0, 255, 255] }
        func contrast(_ chroma: String) async throws -> Int {
            let output = try await harness.make(
                stripes, #""format":"avif","quality":85,"encode":{"chromaSubsampling":"\#(chroma)"}"#)
            let sample = try output.sample()
            return (8..<56).map { abs(Int(sample.pixel($0, 32)[0]) - Int(sample.pixel($0, 32)[2])) }.reduce(0, +) / 48
        }
        #expect(try await contrast("4:4:4") > 200)
        #expect(try await contrast("4:2:0") < 180)
    }

    @Test(arguments: [(256, UInt8(8)), (16, 4), (4, 2), (2, 1)])
    func `a PNG's palette has at most the colours that are named`(colors: Int, depth: UInt8) async throws {
        for file in try await files("png", #"{"palette":true,"colors":\#(colors)}"#) {
            #expect(file[24] == depth)
            #expect(file[25] == 3)
            let sample = try #require(PixelSample(file))
            let pixels = Set((0..<160).flatMap { x in (0..<120).map { sample.pixel(x, $0) } })
            #expect(pixels.count > 1)
            #expect(pixels.count <= colors)
        }
    }

    @Test func `a PNG has the named compression and passes, and the same pixels`() async throws {
        let original = try #require(PixelSample(photo))
        let plain = try await files("png", #"{"compression":0}"#), small = try await files("png", #"{"compression":9}"#)
        let passes = try await files("png", #"{"progressive":true}"#)
        for number in 0..<2 {
            #expect(plain[number].count > small[number].count)
            #expect(passes[number][28] == 1)
            #expect(small[number][28] == 0)
            for file in [plain, small, passes] {
                let sample = try #require(PixelSample(file[number]))
                for x in 0..<160 { #expect(sample.pixel(x, 77) == original.pixel(x, 77)) }
            }
        }
    }

    @Test func `the plan names the settings, and its estimate follows them`() async throws {
        let header = SourceHeader(format: .png, width: 800, height: 600)
        func plan(_ encode: String) throws -> DecodePlan {
            let variant = try Variant(json: #"{"name":"a","keySuffix":"x","format":"webp","encode":\#(encode)}"#.utf8)
            return DecodePlan(
                header, variants: [variant], scale: 1, limits: TranscodeLimits(), writable: [.webp, .png, .jpeg])
        }
        let usual = try plan("{}"), slow = try plan(#"{"effort":6}"#), lossless = try plan(#"{"lossless":true}"#)
        #expect(usual.outputTimes[0] * 1.5 < slow.outputTimes[0])
        #expect(slow.outputTimes[0] < lossless.outputTimes[0])
        let variants = [try Variant(json: #"{"name":"a","keySuffix":"x","format":"webp"}"#.utf8)]
        let summary = PlanSummary(lossless, header, variants: variants, copies: [false])
        #expect(summary.variants[0].encode == "lossless=true")
        #expect(summary.variants[0].quality == nil)
        #expect(summary.lines[2].hasSuffix("→ webp, lossless=true, 800×600"))
    }

    @Test func `settings of a format that is replaced are dropped`() throws {
        let header = SourceHeader(format: .png, width: 800, height: 600)
        let variant = try Variant(json: #"{"name":"a","format":"avif","encode":{"effort":2}}"#.utf8)
        let plan = DecodePlan(
            header, variants: [variant], scale: 1, limits: TranscodeLimits(), writable: [.png, .jpeg])
        let encoding = try plan.outputs[0].get().encoding
        #expect(encoding.format == .jpeg)
        #expect(encoding.replaced == .avif)
        #expect(encoding.options == nil)
    }
}
