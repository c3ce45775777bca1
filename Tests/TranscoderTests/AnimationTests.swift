import ImageModel
import TestTranscoder
import Testing

@testable import Transcoder

/// Variants with `animation`.
@Suite(.timeLimit(.minutes(5)))
struct AnimationTests {
    private let harness = PictureHarness()
    private let small = #""animation":"frames","transform":[{"type":"resize","width":20,"height":15}]"#

    private func header(_ bytes: [UInt8]) async throws -> SourceHeader {
        let file = try ScratchFile(bytes)
        return try await harness.transcoder.probe(file.descriptor)
    }

    @Test(arguments: [
        ("animated.gif", "gif"), ("animated.gif", "webp"), ("animated.gif", "png"), ("animated.webp", "gif"),
        ("animated.webp", "webp"), ("animated.png", "gif"), ("animated.png", "png"),
    ])
    func `every frame is drawn, and its time and the loop count are kept`(name: String, format: String) async throws {
        let image = try Fixtures.image(name)
        let before = try await header(image)
        let output = try await harness.make(image, #"\#(small),"format":"\#(format)""#)
        let made = try output.made(), after = try await header(output.files[0])
        #expect(!made.copied)
        #expect(made.frames == before.frames)
        #expect(made.width == 20)
        #expect(made.height == 15)
        #expect(after.format.name == format)
        #expect(after.frames == before.frames)
        #expect(after.width == 20)
        #expect(after.height == 15)
        #expect(after.frameMilliseconds == before.frameMilliseconds)
        #expect(after.loopCount == before.loopCount)
    }

    @Test(arguments: [1, 2, 7])
    func `a GIF's loop count is kept in every format with frames`(count: UInt8) async throws {
        var image = try Fixtures.image("animated.gif")
        let start = try #require(image.indices.first { image[$0...].starts(with: [0x21, 0xFF, 0x0B]) })
        image[start + 16] = count
        #expect(try await header(image).loopCount == Int(count))
        for format in ["gif", "webp", "png"] {
            let output = try await harness.make(image, #"\#(small),"format":"\#(format)""#)
            #expect(try await header(output.files[0]).loopCount == Int(count), "\(format)")
            if format == "gif" { #expect(countInBlock(output.files[0]) == Int(count)) }
        }
    }

    /// The loop count in a GIF; nil without the block.
    private func countInBlock(_ gif: [UInt8]) -> Int? {
        let name = Array("NETSCAPE2.0".utf8)
        guard let start = gif.indices.first(where: { gif[$0...].starts(with: name) }) else { return nil }
        return Int(gif[start + 13]) + Int(gif[start + 14]) * 256
    }

    @Test func `a GIF without a loop count stays without one, and plays once in every format`() async throws {
        let image = try Fixtures.image("animated.gif")
        let start = try #require(image.indices.first { image[$0...].starts(with: [0x21, 0xFF, 0x0B]) })
        let once = Array(image[..<start] + image[(start + 19)...])
        #expect(countInBlock(image) == 0)
        #expect(countInBlock(once) == nil)
        let output = try await harness.make(
            once, #""thumbnail":{"width":20,"height":20}"#, #"\#(small),"format":"gif""#,
            #"\#(small),"format":"webp""#, #"\#(small),"format":"png""#)
        #expect(countInBlock(output.files[0]) == nil)
        #expect(countInBlock(output.files[1]) == nil)
        for file in output.files { #expect(try await header(file).loopCount == 1) }
    }

    @Test(arguments: [(0, 0), (1, nil), (3, 3)] as [(Int, Int?)])
    func `an animated PNG that plays once becomes a GIF without a loop count`(count: Int, block: Int?) async throws {
        let whole = SyntheticAnimation.Frame(rect: [0, 0, 8, 4], color: [255, 0, 0, 255])
        let part = SyntheticAnimation.Frame(rect: [0, 0, 4, 4], color: [0, 0, 255, 255])
        let animation = SyntheticAnimation(loopCount: count, frames: [whole, part])
        let output = try await harness.make(animation.file, #""animation":"frames","format":"gif""#)
        #expect(countInBlock(output.files[0]) == block)
        #expect(try await header(output.files[0]).loopCount == count)
    }

    @Test func `transformers are applied to every frame`() async throws {
        let transforms = ##"""
            "animation":"frames","format":"webp","quality":100,
            "transform":[{"type":"resize","width":40,"height":40,"scaleMode":"aspectFit"},{"type":"flip","vertical":true},
            {"type":"tint","color":"#40000000","blendMode":"sourceAtop"},{"type":"roundCorner","radius":5}]
            """##
        let output = try await harness.make(try Fixtures.image("animated.webp"), transforms)
        let after = try await header(output.files[0])
        #expect(after.frames == 2)
        #expect(after.width == 40)
        #expect(after.height == 40)
        #expect(after.hasAlpha)
    }

    @Test func `a still with animation is drawn as one frame, under a key of its own`() async throws {
        let output = try await harness.make(try Fixtures.image("plain.jpg"), small)
        #expect(try output.made().format == .jpeg)
        #expect(try output.made().frames == 1)
        #expect(try output.made().width == 20)
        let variant = try Variant(json: #"{"name":"v",\#(small),"keySuffix":"x"}"#.utf8)
        #expect(variant.keySuffixes == ["SDImageResizingTransformer({20.000000,15.000000},0)-LarderEveryFrame-x"])
    }

    /// The frames are red and blue.
    @Test func `the thumbnail of an animated PNG has all frames, one that names PNG the first`() async throws {
        let image = try Fixtures.image("animated.png")
        let thumbnail = #""thumbnail":{"width":4,"height":4}"#
        let output = try await harness.make(image, thumbnail, small, #"\#(thumbnail),"format":"png""#)
        #expect(output.report.source.frames == 2)
        #expect(try (0...2).map { try output.made($0).frames } == [2, 2, 1])
        #expect(try (0...2).allSatisfy { try !output.made($0).copied && output.made($0).format == .png })
        #expect(try output.sample(1).pixel(10, 7) == [255, 0, 0, 255])
        let first = try await harness.make(image, thumbnail, options: .firstFrameOnly)
        #expect(try first.sample().pixel(2, 2) == [255, 0, 0, 255])
        #expect(try first.made().width == 4)
        #expect(try first.made().format == .png)
        #expect(try first.made().frames == 1)
    }

    /// The detail is at the right of the first frame, at the left of the second.
    @Test(arguments: ["attention", "entropy"])
    func `a smart crop of all frames keeps the part that it finds in the first`(interest: String) async throws {
        let frames = [220..<300, 0..<80].map { columns in
            SyntheticAnimation.Frame(rect: [0, 0, 300, 100], color: []) { x, y in
                guard columns.contains(x) else { return [90, 90, 90, 255] }
                return [UInt8((x * 37 + y * 91) % 256), UInt8((x ^ y) * 5 % 256), 30, 255]
            }
        }
        let crop = #"{"type":"resize","width":50,"height":50,"scaleMode":"aspectFill","gravity":"\#(interest)"}"#
        let output = try await harness.make(
            SyntheticAnimation(width: 300, height: 100, frames: frames).file,
            #""animation":"frames","transform":[\#(crop)],"format":"webp","encode":{"lossless":true}"#)
        let strip = try #require(PixelSample(output.files[0], frames: -1))
        #expect(strip.width == 50)
        #expect(strip.height == 100)
        let detail = [25, 75].map { y in
            (0..<50).filter { !isClose(strip.pixel($0, y), [90, 90, 90, 255], within: 12) }.count
        }
        #expect(detail[0] > 25, "\(detail)")
        #expect(detail[1] == 0, "\(detail)")
    }

    @Test func `a frame has the part that differs from the one before`() async throws {
        let animation = SyntheticAnimation(
            width: 60, height: 40,
            frames: [
                .init(rect: [0, 0, 60, 40], color: [255, 0, 0, 255]),
                .init(rect: [20, 10, 8, 6], color: [0, 0, 255, 255]),
            ])
        let variants = ["gif", "webp", "png"].map { #""animation":"frames","quality":100,"format":"\#($0)""# }
        let output = try await harness.make(animation.file, variants[0], variants[1], variants[2])
        let frames = [
            FrameRects.gif(output.files[0]), FrameRects.webp(output.files[1]), FrameRects.png(output.files[2]),
        ]
        #expect(frames.allSatisfy { $0.count == 2 && $0.first?.rect == [0, 0, 60, 40] }, "\(frames)")
        #expect(frames[0].last?.rect == [20, 10, 8, 6])
        #expect(frames[2].last?.rect == [20, 10, 8, 6])
        // WebP is lossy, and its blocks of colour are larger than a pixel.
        let area = frames[1].last.map { $0.rect[2] * $0.rect[3] }
        #expect(area ?? 2400 <= 24 * 20, "\(frames[1])")
    }

    @Test func `a GIF has a palette for a frame with other colours`() async throws {
        func shades(_ band: Int) -> SyntheticAnimation.Frame { .init(rect: [0, 0, 60, 40], color: [], shades: band) }
        let animation = SyntheticAnimation(width: 60, height: 40, frames: [shades(0), shades(2), shades(2)])
        let output = try await harness.make(animation.file, #""animation":"frames","format":"gif""#)
        #expect(FrameRects.gif(output.files[0]).map(\.hasPalette)[1])
        let made = try #require(PixelSample(output.files[0], frames: -1))
        #expect(made.height == 120)
        for x in stride(from: 0, to: 60, by: 7) {
            #expect(isClose(made.pixel(x, 20), [x * 4, 0, 0, 255], within: 10), "\(x)")
            #expect(isClose(made.pixel(x, 60), [0, 0, x * 4, 255], within: 10), "\(x)")
        }
    }

    @Test func `one request copies an animation and draws all its frames`() async throws {
        let image = try Fixtures.image("animated.gif")
        let output = try await harness.make(image, #""transform":[{"type":"resize","width":4,"height":4}]"#, small)
        #expect(try output.made(0).copied)
        #expect(output.files[0] == image)
        #expect(try !output.made(1).copied)
        #expect(try output.made(1).frames == 3)
    }
}
