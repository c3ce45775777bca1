import ImageModel
import TestTranscoder
import Testing

@testable import Codecs
@testable import Transcoder

/// Drawn and copied variants. Line numbers refer to SDWebImage 5.21.5.
@Suite(.timeLimit(.minutes(5)))
struct DrawnVariantTests {
    private let harness = PictureHarness { $0.formats.formUnion(ImageFormat.acceptedOnRequest) }
    private let thumbnail = #""thumbnail":{"width":20,"height":20}"#
    private let resized = #""transform":[{"type":"resize","width":8,"height":4}]"#

    private func header(_ bytes: [UInt8]) async throws -> SourceHeader {
        let file = try ScratchFile(bytes)
        return try await harness.transcoder.probe(file.descriptor)
    }

    // SDWebImageManager.m 507–513: a thumbnail has no data. SDImageCache.m 269–286: an image without data is encoded.
    // 503–504: TransformAnimatedImage is for transformers.
    @Test(arguments: ["animated.gif", "animated.webp"], [TranscodeRequest.Options(), .transformsAnimated])
    func `a thumbnail of an animation has all frames at that size, in its format`(
        name: String, options: TranscodeRequest.Options
    ) async throws {
        let image = try Fixtures.image(name)
        let before = try await header(image)
        let output = try await harness.make(image, thumbnail, options: options)
        let made = try output.made(), after = try await header(output.files[0])
        #expect(!made.copied)
        #expect(made.width == 20)
        #expect(made.frames == before.frames)
        #expect(after.frames == before.frames)
        #expect(after.format == before.format)
        #expect(after.width == 20)
        #expect(after.frameMilliseconds == before.frameMilliseconds)
        #expect(after.loopCount == before.loopCount)
    }

    // SDWebImageManager.m 503–504 and 539–541: the animated thumbnail is not transformed and is stored as it is.
    @Test func `a transformer leaves the thumbnail of an animation unless TransformAnimatedImage is set`() async throws
    {
        let image = try Fixtures.image("animated.gif")
        let variants = (thumbnail, "\(thumbnail),\(resized)")
        let output = try await harness.make(image, variants.0, variants.1)
        #expect(output.files[0] == output.files[1])
        #expect(try output.made(1).frames == 3)
        #expect(try output.made(1).width == 20)
        let transformed = try await harness.make(image, variants.1, options: .transformsAnimated)
        #expect(try transformed.made().frames == 1)
        #expect(try transformed.made().width == 8)
    }

    // SDImageCache.m 264–267: an image of the animated class is stored as its data. SDImageCacheDefine.m 113–130: not
    // with DecodeFirstFrameOnly.
    @Test func `animatedImageClass keeps the animation's bytes under a thumbnail's key`() async throws {
        let image = try Fixtures.image("animated.gif")
        let kept = try await harness.make(image, thumbnail, options: .keepsAnimation)
        #expect(try kept.made().copied)
        #expect(kept.files[0] == image)
        let first = try await harness.make(image, thumbnail, options: [.keepsAnimation, .firstFrameOnly])
        #expect(try !first.made().copied)
        #expect(try first.made().frames == 1)
        #expect(try first.made().width == 20)
        let still = try await harness.make(try Fixtures.image("rgb.png"), thumbnail, options: .keepsAnimation)
        #expect(try !still.made().copied)
        #expect(try still.made().width == 20)
    }

    @Test func `animation decides about the frames, transformers included`() async throws {
        let image = try Fixtures.image("animated.gif")
        let both = "\(thumbnail),\(resized)"
        let output = try await harness.make(
            image, #"\#(both),"animation":"still""#, #"\#(both),"animation":"frames""#,
            #"\#(resized),"animation":"still""#)
        #expect(try (0...2).map { try output.made($0).frames } == [1, 3, 1])
        #expect(try (0...2).allSatisfy { try output.made($0).width == 8 && !output.made($0).copied })
    }

    // SDImageCache.m 264–286 and SDImageIOAnimatedCoder.m, encodedDataWithFrames:.
    @Test func `encodeFirstFrameOnly leaves the first frame of a thumbnail, and copies without one`() async throws {
        let image = try Fixtures.image("animated.gif")
        let output = try await harness.make(
            image, thumbnail, "\(thumbnail),\(resized)", resized, options: .encodesFirstFrame)
        #expect(try (0...1).allSatisfy { try output.made($0).frames == 1 && output.made($0).width == 20 })
        #expect(try output.made(2).copied)
        let kept = try await harness.make(image, thumbnail, options: [.encodesFirstFrame, .keepsAnimation])
        #expect(try kept.made().copied)
    }

    @Test func `a thumbnail in a format for stills shows the first frame`() async throws {
        let output = try await harness.make(
            try Fixtures.image("animated.gif"), #"\#(thumbnail),"format":"jpeg""#, #"\#(thumbnail),"format":"webp""#)
        #expect(try output.made(0).format == .jpeg)
        #expect(try output.made(0).frames == 1)
        #expect(try output.made(1).format == .webp)
        #expect(try output.made(1).frames == 3)
    }

    // SDWebImageManager.m 505 and 539–541: a vector image is stored under the transformer's key as it is.
    @Test(arguments: ["still.svg", "still.pdf"])
    func `a vector image is transformed with TransformVectorImage and copied without it`(name: String) async throws {
        let image = try Fixtures.image(name)
        let copied = try await harness.make(image, resized, options: [.transformsAnimated, .firstFrameOnly])
        #expect(try copied.made().copied)
        #expect(copied.files[0] == image)
        let drawn = try await harness.make(image, resized, options: .transformsVector)
        #expect(try !drawn.made().copied)
        #expect(try drawn.made().width == 8)
        #expect(try drawn.made().height == 4)
    }

    // SDImageIOCoder.m 171–193 and SDWebImageManager.m 505: an image drawn at a thumbnail size is no vector image.
    @Test(arguments: ["still.svg", "still.pdf"])
    func `a vector image with a thumbnail size or a format is drawn`(name: String) async throws {
        let output = try await harness.make(
            try Fixtures.image(name), thumbnail, "\(thumbnail),\(resized)", #"\#(resized),"format":"png""#)
        #expect(try (0...2).allSatisfy { try !output.made($0).copied })
        #expect(try (0...2).map { try output.made($0).width } == [20, 8, 8])
    }

    // SDImageIOAnimatedCoder.m 684–691: the limit's size replaces the thumbnail size, and the aspect ratio is kept.
    // 489: an image within it is decoded in full.
    @Test(arguments: [ImageFormat.png, .gif, .webp])
    func `a limit of bytes replaces the thumbnail size in animated formats`(format: ImageFormat) {
        let box = Variant.Thumbnail(width: 50, height: 20, preserveAspectRatio: false)
        func size(_ side: Int, frames: Int = 1) -> PixelSize? {
            var header = SourceHeader(format: format, width: 100, height: 100)
            header.frames = frames
            return Geometry.decoded(header, box: box, limitBytes: 4 * side * side * frames)
        }
        #expect(size(80) == PixelSize(width: 80, height: 80))
        #expect(size(10) == PixelSize(width: 10, height: 10))
        #expect(size(10, frames: 5) == PixelSize(width: 10, height: 10))
        #expect(size(200) == nil)
    }

    // SDImageIOCoder.m 144–240 has no limit of bytes.
    @Test func `in other formats the smaller of limit and thumbnail size is decoded`() {
        let header = SourceHeader(format: .jpeg, width: 100, height: 100)
        let box = Variant.Thumbnail(width: 50, height: 50)
        let sizes = [80, 10, 200].map { Geometry.decoded(header, box: box, limitBytes: 4 * $0 * $0)?.width }
        #expect(sizes == [50, 10, 50])
    }
}
