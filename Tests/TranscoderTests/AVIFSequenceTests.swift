import ImageModel
import TestTranscoder
import Testing

@testable import Transcoder

/// Animated AVIF, and HEIC sequences.
@Suite(.timeLimit(.minutes(5)))
struct AVIFSequenceTests {
    private let harness = PictureHarness()
    private let box = #""thumbnail":{"width":40,"height":40}"#

    private func header(_ bytes: [UInt8]) async throws -> SourceHeader {
        let file = try ScratchFile(bytes)
        return try await harness.transcoder.probe(file.descriptor)
    }

    @Test func `the header has the frames and their times`() async throws {
        let three = try await header(try Fixtures.image("animated.avif"))
        #expect(three.format == .avif)
        #expect(three.frames == 3)
        #expect(three.frameMilliseconds == [120, 300, 300])
        #expect(three.width == 80)
        #expect(three.height == 60)
        let clear = try await header(try Fixtures.image("animated-alpha.avif"))
        #expect(clear.frames == 2)
        #expect(clear.frameMilliseconds == [200, 200])
        #expect(clear.hasAlpha)
        #expect(try await header(try Fixtures.image("still.avif")).frames == 1)
    }

    @Test(arguments: ["", "webp", "gif"])
    func `a thumbnail has all frames, as PNG or in the named format`(named: String) async throws {
        let written = named.isEmpty ? "png" : named, format = named.isEmpty ? "" : #","format":"\#(named)""#
        let output = try await harness.make(try Fixtures.image("animated.avif"), box + format)
        let made = try output.made()
        #expect(!made.copied)
        #expect(made.frames == 3)
        #expect(made.format.name == written)
        #expect(made.width == 40)
        let after = try await header(output.files[0])
        #expect(after.frames == 3)
        #expect(after.frameMilliseconds == [120, 300, 300])
        #expect(after.height == 30)
        // libvips reads no frames of a PNG.
        guard written != "png" else { return }
        // The second frame is the negative of the first, whose corner is red.
        let frames = try #require(PixelSample(output.files[0], frames: -1))
        let (first, second) = (frames.pixel(4, 4), frames.pixel(4, 34))
        #expect(first[0] > 200, "\(first) \(second)")
        #expect(first[1] < 60, "\(first) \(second)")
        #expect(second[0] < 60, "\(first) \(second)")
        #expect(second[1] > 200, "\(first) \(second)")
    }

    @Test func `alpha is kept`() async throws {
        let output = try await harness.make(try Fixtures.image("animated-alpha.avif"), #"\#(box),"format":"webp""#)
        let frames = try #require(PixelSample(output.files[0], frames: -1))
        #expect(frames.hasAlpha)
        #expect(frames.pixel(2, 2)[3] == 0)
        #expect(frames.pixel(2, 32)[3] == 255)
    }

    @Test func `a format of stills shows the first frame, and transformers alone copy the file`() async throws {
        let image = try Fixtures.image("animated.avif")
        let output = try await harness.make(
            image, #"\#(box),"format":"jpeg""#, #""transform":[{"type":"flip","vertical":true}]"#)
        #expect(try output.made(0).frames == 1)
        #expect(try output.made(0).format == .jpeg)
        #expect(try output.made(1).copied)
        #expect(output.files[1] == image)
    }

    @Test func `the pixels of all frames are limited before one is decoded`() async throws {
        let small = PictureHarness { $0.animatedPixels = 10_000 }
        let output = try await small.make(try Fixtures.image("animated.avif"), box, #"\#(box),"format":"jpeg""#)
        let error = #expect(throws: TranscodeError.self) { try output.made(0) }
        #expect(error?.code == .frames)
        #expect(try output.made(1).width == 40)
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `a HEIC sequence is an animation, of which a thumbnail shows the first frame`() async throws {
        let image = try Fixtures.bytes("\(Fixtures.shared ?? "")/TestImageAnimated.heics")
        #expect(try await header(image).frames == 120)
        let output = try await harness.make(
            image, box, #""transform":[{"type":"flip","vertical":true}]"#, #"\#(box),"animation":"frames""#)
        #expect(try output.made(0).frames == 1)
        #expect(try output.made(0).width == 40)
        #expect(try !output.made(0).copied)
        #expect(try output.made(1).copied)
        #expect(output.files[1] == image)
        #expect(try output.made(2).frames == 1)
        for missing in [1, 1000, image.count / 2] {
            #expect(try await harness.refusal(image.dropLast(missing))?.code == .undecodable, "\(missing)")
        }
    }
}
