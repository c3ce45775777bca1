import ImageModel
import Testing
@testable import Transcoder

/// Animations drawn frame by frame, where a variant asks for that.
@Suite(.timeLimit(.minutes(5)))
struct AnimationTests {
    private let kitchen = TranscodeHarness()
    private let small = #""everyFrame":true,"transform":[{"type":"resize","width":20,"height":15}]"#

    private func header(_ bytes: [UInt8]) async throws -> SourceHeader {
        let file = try ScratchFile(bytes)
        return try await kitchen.pool.probe(file.descriptor)
    }

    @Test(arguments: [
        ("animated.gif", "gif"), ("animated.gif", "webp"), ("animated.webp", "gif"), ("animated.webp", "webp"),
    ])
    func `draws every frame, with its time and the number of turns`(name: String, format: String) async throws {
        let picture = try Fixtures.picture(name)
        let before = try await header(picture)
        let dish = try await kitchen.make(picture, #"\#(small),"format":"\#(format)""#)
        let made = try dish.made(), after = try await header(dish.files[0])
        #expect(!made.copied && made.frames == before.frames && made.width == 20 && made.height == 15)
        #expect(after.format.name == format && after.frames == before.frames)
        #expect(after.width == 20 && after.height == 15)
        #expect(after.frameMilliseconds == before.frameMilliseconds && after.loopCount == before.loopCount)
    }

    @Test(arguments: [1, 2, 7])
    func `a count of turns stays what it was, from GIF to GIF and to WebP`(count: UInt8) async throws {
        var picture = try Fixtures.picture("animated.gif")
        let start = try #require(picture.indices.first { picture[$0...].starts(with: [0x21, 0xFF, 0x0B]) })
        picture[start + 16] = count
        #expect(try await header(picture).loopCount == Int(count))
        for format in ["gif", "webp"] {
            let dish = try await kitchen.make(picture, #"\#(small),"format":"\#(format)""#)
            #expect(try await header(dish.files[0]).loopCount == Int(count), "\(format)")
        }
    }

    @Test func `frames differ as they did, and every transformer works on each`() async throws {
        let transforms = ##"""
            "everyFrame":true,"format":"webp","quality":100,
            "transform":[{"type":"resize","width":40,"height":40,"scaleMode":"aspectFit"},{"type":"flip","vertical":true},
            {"type":"tint","color":"#40000000","blendMode":"sourceAtop"},{"type":"roundCorner","radius":5}]
            """##
        let dish = try await kitchen.make(try Fixtures.picture("animated.webp"), transforms)
        let after = try await header(dish.files[0])
        #expect(after.frames == 2 && after.width == 40 && after.height == 40 && after.hasAlpha)
    }

    @Test func `a still is drawn as ever, and the key is another`() async throws {
        let dish = try await kitchen.make(try Fixtures.picture("plain.jpg"), small)
        #expect(try dish.made().format == .jpeg && dish.made().frames == 1 && dish.made().width == 20)
        let variant = try Variant(json: #"{"name":"v",\#(small),"keySuffix":"x"}"#.utf8)
        #expect(variant.keySuffixes == ["SDImageResizingTransformer({20.000000,15.000000},0)-LarderEveryFrame-x"])
    }

    /// Its frames are red and blue.
    @Test func `an animated PNG is copied whole, or drawn by its first frame`() async throws {
        let picture = try Fixtures.picture("animated.png")
        let dish = try await kitchen.make(picture, #""thumbnail":{"width":4,"height":4}"#, small)
        #expect(dish.report.source.frames == 2)
        #expect(try dish.made(0).copied && dish.files[0] == picture)
        #expect(try !dish.made(1).copied && dish.made(1).frames == 1)
        #expect(try dish.sample(1).pixel(10, 7) == [255, 0, 0, 255])
        let first = try await kitchen.make(picture, #""thumbnail":{"width":4,"height":4}"#, transformsAnimated: true)
        #expect(try dish.made(1).format == .png && first.sample().pixel(2, 2) == [255, 0, 0, 255])
        #expect(try first.made().width == 4 && first.made().format == .png)
    }

    @Test func `an animation is copied, drawn by its first frame and drawn in full at once`() async throws {
        let picture = try Fixtures.picture("animated.gif")
        let dish = try await kitchen.make(picture, #""transform":[{"type":"resize","width":4,"height":4}]"#, small)
        #expect(try dish.made(0).copied && dish.files[0] == picture)
        #expect(try !dish.made(1).copied && dish.made(1).frames == 3)
    }
}
