import Foundation
import TestTranscoder
import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

/// Every row of the coder vectors: decode sizes, timing, encoding.
@Suite(.timeLimit(.minutes(5)))
struct CoderVectorTests {
    private let harness = PictureHarness()

    private func shared(_ name: String) throws -> [UInt8] {
        try Fixtures.bytes(try #require(Fixtures.shared) + "/" + name)
    }

    private func size(_ numbers: [Int]) -> PixelSize { PixelSize(width: numbers[0], height: numbers[1]) }

    @Test func `every row's limit on bytes gives its size`() throws {
        for row in try Fixtures.rows("coders.json", "limit_bytes") {
            let image = try #require(row["imageSize"] as? [Int]), expected = try #require(row["expected"] as? [Int])
            let bytes = try #require(row["limitBytes"] as? Int), frames = try #require(row["frames"] as? Int)
            #expect(Geometry.limited(size(image), bytes: bytes, frames: frames) == size(expected), "\(row)")
        }
    }

    @Test func `every row's frame duration follows from its raw value`() throws {
        for row in try Fixtures.rows("coders.json", "frame_duration") {
            let raw = (row["raw"] as? NSNumber)?.doubleValue
            #expect(FrameTiming.duration(raw) == (row["expected"] as? NSNumber)?.doubleValue, "\(row)")
        }
    }

    @Test func `every asserted row is known`() throws {
        let known = Set([
            // Tested below and in SharedImageTests.
            "helper scale-down", "never scale up", "no blank bottom rows", "alpha to JPG flatten",
            "alpha to JPEG flatten",
            "max file size hint", "default GIF loop count", "max pixel size encode", "orientation",
            "indexed PNG with alpha",
            "16-bit PNG keeps 16 bits per component, straight alpha", "SVG is not decodable by the built-in coders",
            "IO coder accepts everything", "thumbnail 50x50", "animated encode", "scaled size helper",
        ])
        for row in try Fixtures.rows("coders.json", "asserted") {
            #expect(known.contains(try #require(row["what"] as? String)), "\(row)")
        }
    }

    /// SDWebImage's size helper, where Larder has the same rule: the third row, a stretch that does not enlarge, and
    /// the empty image have no counterpart.
    @Test func `the size helper's rows hold where Larder has the rule`() throws {
        var checked = 0
        for row in try Fixtures.rows("coders.json", "asserted") where row["what"] as? String == "scaled size helper" {
            let input = try #require(row["input"] as? [String: Any]), image = try #require(input["imageSize"] as? [Int])
            let box = try #require(input["scaleSize"] as? [Int])
            guard input["shouldScaleUp"] as? Bool == true else { continue }
            let mode: Transform.ScaleMode = input["preserveAspectRatio"] as? Bool == true ? .aspectFit : .fill
            let content = Geometry.content(
                of: size(image), width: Double(box[0]), height: Double(box[1]), mode: mode)
            let expected = (row["expected"] as? [String: [Int]])?["size"]
            #expect(content.map { [Int($0.width), Int($0.height)] } == expected, "\(row)")
            checked += 1
        }
        #expect(checked == 3)
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `small images are not scaled down, large ones are`() async throws {
        let small = try await harness.make(
            try shared("TestImage.jpg"), #""keySuffix":"x""#, scaleDownBytes: 62_914_560)
        #expect(try small.made().width == 80)
        #expect(try small.made().height == 60)
        #expect(Geometry.limited(PixelSize(width: 5250, height: 3450), bytes: 62_914_560, frames: 1).area <= 15_728_640)
        let large = try await harness.make(
            try shared("TestImageLarge.jpg"), #""keySuffix":"x""#, scaleDownBytes: 62_914_560)
        #expect(try large.made().width < 5250)
        #expect(try large.made().height < 3450)
        #expect(try large.made().width * large.made().height <= 15_728_640)
    }

    @Test func `an image that is scaled down is drawn to its last row`() async throws {
        let black = SyntheticImage.plain(1029, 1029, [0, 0, 0, 255])
        let output = try await harness.make(black, #""keySuffix":"x""#, scaleDownBytes: 1_048_576)
        let sample = try output.sample()
        #expect(sample.width == 512)
        #expect(sample.height == 512)
        #expect(sample.pixel(0, 511) == [0, 0, 0, 255])
        #expect(sample.pixel(0, 503) == [0, 0, 0, 255])
        let square = try await harness.make(
            SyntheticImage.black(2000, 2000), #""keySuffix":"x""#, scaleDownBytes: 4_000_000)
        #expect(try square.made().width == 1000)
        #expect(try square.made().height == 1000)
    }

    @Test func `transparency becomes the requested background, or white`() async throws {
        let image = SyntheticImage.plain(30, 30, [0, 0, 0, 0])
        let output = try await harness.make(
            image, ##""keySuffix":"a","format":"jpeg","background":"#ff000000""##,
            #""keySuffix":"b","format":"jpeg""#,
            ##""keySuffix":"c","format":"jpeg","background":"#80ff0000""##)
        #expect(isClose(try output.sample(0).pixel(1, 1), [0, 0, 0, 255], within: 1))
        #expect(isClose(try output.sample(1).pixel(1, 1), [255, 255, 255, 255], within: 1))
        #expect(isClose(try output.sample(2).pixel(1, 1), [255, 127, 127, 255], within: 3))
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `a limit on bytes gives a file between the lowest and the highest quality in size`() async throws {
        let output = try await harness.make(
            try shared("TestImageLarge.jpg"), #""keySuffix":"a","quality":1"#,
            #""keySuffix":"b","quality":100,"maxBytes":1048576"#, #""keySuffix":"c","quality":100"#)
        let sizes = output.files.map(\.count)
        #expect(sizes[0] < sizes[1])
        #expect(sizes[1] < sizes[2])
        #expect(sizes[2] > 1_048_576)
        #expect(sizes[1] <= 1_048_576)
        #expect(sizes[0] < 1_048_576)
        #expect(try !output.made(1).exceedsMaxBytes)
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `the encoder's box shrinks images and does not enlarge them`() async throws {
        let output = try await harness.make(
            try shared("TestImageLarge.jpg"), #""keySuffix":"x","maxPixelSize":{"width":4000,"height":4000}"#)
        #expect(try output.made().width == 4000)
        #expect(try output.made().height == 2629)
        let small = try await harness.make(
            try shared("TestImage.jpg"), #""keySuffix":"x","maxPixelSize":{"width":4000,"height":4000}"#)
        #expect(try small.made().width == 80)
    }

    @Test func `a GIF without a loop count plays once, one with 0 plays for ever`() async throws {
        let forever = try Fixtures.image("animated.gif")
        let source = try ScratchFile(forever)
        #expect(try await harness.transcoder.probe(source.descriptor).loopCount == 0)
        // Without its application extension: 21 F F 0B … 00.
        let start = try #require(forever.indices.first { forever[$0...].starts(with: [0x21, 0xFF, 0x0B]) })
        let once = try ScratchFile(Array(forever[..<start] + forever[(start + 19)...]))
        let header = try await harness.transcoder.probe(once.descriptor)
        #expect(header.loopCount == 1)
        #expect(header.frames == 3)
        for (format, count) in [(ImageFormat.gif, 1), (.webp, 0)] {
            #expect(FrameTiming.loopCount(format == .gif ? 1 : 0, addsFirstPlay: format == .gif) == count)
        }
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `headers of SDWebImage's images have the values of its tests`() async throws {
        func header(_ name: String) async throws -> SourceHeader {
            let file = try ScratchFile(try shared(name))
            return try await harness.transcoder.probe(file.descriptor)
        }
        let gif = try await header("TestImage.gif")
        #expect(gif.frames == 5)
        #expect(gif.loopCount == 0)
        #expect(gif.format.sdImageFormat.rawValue == 2)
        let jpeg = try await header("TestImage.jpg")
        #expect(!jpeg.isAnimated)
        #expect(jpeg.frames == 1)
        #expect(jpeg.loopCount == 0)
        #expect(jpeg.format.sdImageFormat.rawValue == 0)
        let turned = try await header("TestJFIF.jpg")
        #expect(turned.orientation == 3)
        #expect(turned.format.sdImageFormat.rawValue == 0)
        for name in ["TestImage.svg", "TestImage.pdf"] {
            #expect(try await harness.refusal(try shared(name))?.code == .undecodable, "\(name)")
        }
        #expect(try await harness.refusal([])?.code == .undecodable)
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `thumbnails and encoder's boxes of 50 pixels have the right size in every format`() async throws {
        let box = #""thumbnail":{"width":50,"height":50,"preserveAspectRatio":"#
        for name in [
            "TestImageAnimated.apng", "TestImage.gif", "TestImage.heic", "TestImage.heif", "TestImageAnimated.heics",
            "TestImageStatic.webp", "TestImageAnimated.webp",
        ] {
            let output = try await harness.make(
                try shared(name), "\(box)true}", "\(box)false}",
                #""keySuffix":"x","maxPixelSize":{"width":50,"height":50}"#, #""keySuffix":"y""#,
                options: .firstFrameOnly)
            let source = output.report.source.uprightSize
            let ratio = 50 / Double(max(source.width, source.height))
            for index in [0, 2] {
                let made = try output.made(index)
                #expect(abs(Double(made.width) - Double(source.width) * min(1, ratio)) <= 1, "\(name) \(index)")
                #expect(abs(Double(made.height) - Double(source.height) * min(1, ratio)) <= 1, "\(name) \(index)")
            }
            // An image that fits its box is not enlarged.
            let stretched = try output.made(1)
            #expect(stretched.width == min(50, source.width), "\(name)")
            #expect(stretched.height == min(50, source.height), "\(name)")
            #expect(try output.made(3).width == source.width, "\(name)")
            #expect(try output.made(3).height == source.height, "\(name)")
        }
    }
}
