import ImageModel
import Testing

@testable import Transcoder

/// Variants with `everyFrame`.
@Suite(.timeLimit(.minutes(5)))
struct AnimationTests {
    private let harness = TranscodeHarness()
    private let small = #""everyFrame":true,"transform":[{"type":"resize","width":20,"height":15}]"#

    private func header(_ bytes: [UInt8]) async throws -> SourceHeader {
        let file = try ScratchFile(bytes)
        return try await harness.pool.probe(file.descriptor)
    }

    @Test(arguments: [
        ("animated.gif", "gif"), ("animated.gif", "webp"), ("animated.webp", "gif"), ("animated.webp", "webp"),
    ])
    func `every frame is drawn, and its time and the loop count are kept`(name: String, format: String) async throws {
        let image = try Fixtures.image(name)
        let before = try await header(image)
        let output = try await harness.make(image, #"\#(small),"format":"\#(format)""#)
        let made = try output.made(), after = try await header(output.files[0])
        #expect(!made.copied && made.frames == before.frames && made.width == 20 && made.height == 15)
        #expect(after.format.name == format && after.frames == before.frames)
        #expect(after.width == 20 && after.height == 15)
        #expect(after.frameMilliseconds == before.frameMilliseconds && after.loopCount == before.loopCount)
    }

    @Test(arguments: [1, 2, 7])
    func `a GIF's loop count is kept in a GIF and in a WebP`(count: UInt8) async throws {
        var image = try Fixtures.image("animated.gif")
        let start = try #require(image.indices.first { image[$0...].starts(with: [0x21, 0xFF, 0x0B]) })
        image[start + 16] = count
        #expect(try await header(image).loopCount == Int(count))
        for format in ["gif", "webp"] {
            let output = try await harness.make(image, #"\#(small),"format":"\#(format)""#)
            #expect(try await header(output.files[0]).loopCount == Int(count), "\(format)")
        }
    }

    @Test func `transformers are applied to every frame`() async throws {
        let transforms = ##"""
            "everyFrame":true,"format":"webp","quality":100,
            "transform":[{"type":"resize","width":40,"height":40,"scaleMode":"aspectFit"},{"type":"flip","vertical":true},
            {"type":"tint","color":"#40000000","blendMode":"sourceAtop"},{"type":"roundCorner","radius":5}]
            """##
        let output = try await harness.make(try Fixtures.image("animated.webp"), transforms)
        let after = try await header(output.files[0])
        #expect(after.frames == 2 && after.width == 40 && after.height == 40 && after.hasAlpha)
    }

    @Test func `a still with everyFrame is drawn as one frame, under a key of its own`() async throws {
        let output = try await harness.make(try Fixtures.image("plain.jpg"), small)
        #expect(try output.made().format == .jpeg && output.made().frames == 1 && output.made().width == 20)
        let variant = try Variant(json: #"{"name":"v",\#(small),"keySuffix":"x"}"#.utf8)
        #expect(variant.keySuffixes == ["SDImageResizingTransformer({20.000000,15.000000},0)-LarderEveryFrame-x"])
    }

    /// The frames are red and blue.
    @Test func `an animated PNG is copied, or drawn from its first frame`() async throws {
        let image = try Fixtures.image("animated.png")
        let output = try await harness.make(image, #""thumbnail":{"width":4,"height":4}"#, small)
        #expect(output.report.source.frames == 2)
        #expect(try output.made(0).copied && output.files[0] == image)
        #expect(try !output.made(1).copied && output.made(1).frames == 1)
        #expect(try output.sample(1).pixel(10, 7) == [255, 0, 0, 255])
        let first = try await harness.make(image, #""thumbnail":{"width":4,"height":4}"#, options: .firstFrameOnly)
        #expect(try output.made(1).format == .png && first.sample().pixel(2, 2) == [255, 0, 0, 255])
        #expect(try first.made().width == 4 && first.made().format == .png)
    }

    @Test func `one request copies an animation and draws all its frames`() async throws {
        let image = try Fixtures.image("animated.gif")
        let output = try await harness.make(image, #""transform":[{"type":"resize","width":4,"height":4}]"#, small)
        #expect(try output.made(0).copied && output.files[0] == image)
        #expect(try !output.made(1).copied && output.made(1).frames == 3)
    }
}
