import TestTranscoder
import Testing

@testable import ImageModel
@testable import Transcoder

/// Requests to real children with real codecs.
@Suite(.timeLimit(.minutes(5)))
struct TranscodeTests {
    private let harness = PictureHarness()

    @Test(arguments: [
        ("plain.jpg", ImageFormat.jpeg), ("progressive.jpg", .jpeg), ("cmyk.jpg", .jpeg), ("grey.jpg", .jpeg),
        ("rgb.png", .png), ("rgb16.png", .png), ("alpha.png", .png), ("still.gif", .gif), ("still.webp", .webp),
        ("alpha.webp", .webp), ("still.heic", .heic), ("still.avif", .jpeg),
    ])
    func `the source's format is kept, except for AVIF`(name: String, format: ImageFormat) async throws {
        let image = try Fixtures.image(name)
        let output = try await harness.make(image, #""thumbnail":{"width":40,"height":40}"#)
        let made = try output.made()
        #expect(made.format == format)
        #expect(made.width == 40)
        #expect(made.height == 30)
        #expect(!made.copied)
        #expect(made.bytes == output.files[0].count)
        #expect(ImageFormat.recognise(output.files[0]) == format)
        let sample = try output.sample()
        #expect(sample.width == 40)
        #expect(sample.height == 30)
        #expect(output.report.source.width == 80)
        #expect(output.report.source.frames == 1)
    }

    @Test func `a child reports its memory and its time`() async throws {
        let image = try Fixtures.image("plain.jpg")
        let report = try await TranscodeHarness().make(image, #""thumbnail":{"width":40,"height":40}"#).report
        #expect(report.peakResidentBytes > 0)
        #expect(report.processorTime > .zero)
    }

    @Test func `the time of codecs is a part of the children's, also where an image cannot be decoded`() async throws {
        let harness = TranscodeHarness(), image = try Fixtures.image("plain.jpg")
        let source = try ScratchFile(image)
        _ = try await harness.pool.plan(source.descriptor, variants: [])
        let planned = harness.pool.counts
        #expect(planned.codecTime == .zero, "a plan decodes nothing")
        #expect(planned.processorTime > .zero, "a plan decodes nothing")
        _ = try await harness.make(image, #""thumbnail":{"width":40,"height":40}"#)
        let made = harness.pool.counts
        #expect(made.codecTime > .zero)
        #expect(made.codecTime < made.processorTime - planned.processorTime)
        #expect(try await harness.refusal(Array(image.dropLast(image.count / 2)))?.code == .undecodable)
        #expect(harness.pool.counts.codecTime > made.codecTime)
    }

    @Test func `every output format is written, and is smaller at a lower quality`() async throws {
        let image = try Fixtures.image("rgb.png")
        let output = try await harness.make(
            image, #""keySuffix":"a","format":"jpeg""#, #""keySuffix":"b","format":"png""#,
            #""keySuffix":"c","format":"gif""#, #""keySuffix":"d","format":"webp""#,
            #""keySuffix":"e","format":"jpeg","quality":1"#, #""keySuffix":"f","format":"webp","quality":0"#)
        let formats = try output.report.variants.map { try $0.get().format }
        #expect(formats == [.jpeg, .png, .gif, .webp, .jpeg, .webp])
        #expect(output.files.map { ImageFormat.recognise($0) } == formats)
        #expect(output.files[4].count < output.files[0].count)
        #expect(output.files[5].count < output.files[3].count)
    }

    @Test(arguments: 1...8)
    func `images of every orientation are written upright`(orientation: Int) async throws {
        let image = try Fixtures.image("orientation-\(orientation).jpg")
        let output = try await harness.make(image, #""keySuffix":"x","format":"png""#)
        let made = try output.made()
        #expect(made.width == 80)
        #expect(made.height == 60)
        #expect(output.report.source.orientation == orientation)
        let sample = try output.sample()
        #expect(isClose(sample.pixel(5, 5), [255, 0, 0, 255], within: 20), "the top left corner is red")
        #expect(isClose(sample.pixel(75, 5), [236, 236, 244, 255], within: 20), "white is at the top")
        #expect(isClose(sample.pixel(40, 58), [4, 4, 130, 255], within: 20), "navy is at the bottom")
    }

    @Test func `aspectFit leaves transparent margins, which are white in a JPEG`() async throws {
        let fit = #""transform":[{"type":"resize","width":100,"height":100,"scaleMode":"aspectFit"}]"#
        let output = try await harness.make(
            try Fixtures.image("rgb.png"), fit, #"\#(fit),"format":"jpeg","keySuffix":"j""#)
        let png = try output.sample(0), jpeg = try output.sample(1)
        #expect(png.width == 100)
        #expect(png.height == 100)
        #expect(png.hasAlpha)
        #expect(!jpeg.hasAlpha)
        #expect(png.pixel(50, 2) == [0, 0, 0, 0])
        #expect(png.pixel(5, 50)[3] == 255)
        #expect(isClose(jpeg.pixel(50, 2), [255, 255, 255, 255], within: 6))
    }

    @Test func `alpha is resampled premultiplied, without a dark fringe`() async throws {
        let output = try await harness.make(
            try Fixtures.image("alpha.png"), #""transform":[{"type":"resize","width":33,"height":25}]"#)
        let sample = try output.sample()
        for x in 0..<33 {
            let pixel = sample.pixel(x, 12)
            if pixel[3] > 20 { #expect(isClose(pixel, [255, 0, 0, pixel[3]], within: 8), "at \(x): \(pixel)") }
        }
        #expect(isClose(sample.pixel(16, 12), [255, 0, 0, 128], within: 1))
    }

    @Test func `a crop outside the image fails its variant alone`() async throws {
        let crop = { (x: Int, y: Int) in #""transform":[{"type":"crop","x":\#(x),"y":\#(y),"width":30,"height":30}]"# }
        let output = try await harness.make(try Fixtures.image("rgb.png"), crop(-10, -10), crop(80, 0), crop(10, 5))
        #expect(try output.made(0).width == 20)
        #expect(try output.made(0).height == 20)
        #expect(try output.sample(0).pixel(0, 0) == [255, 0, 0, 255])
        #expect(throws: TranscodeError.self) { try output.made(1) }
        if case .failure(let error) = output.report.variants[1] { #expect(error.code == .transform) }
        #expect(output.files[1].isEmpty)
        #expect(try output.made(2).width == 30)
    }

    @Test func `a key's scale factor multiplies points`() async throws {
        let output = try await harness.make(
            try Fixtures.image("rgb.png"), #""transform":[{"type":"resize","width":20,"height":10}]"#, scale: 2)
        #expect(try output.made().width == 40)
        #expect(try output.made().height == 20)
    }

    @Test func `an embedded profile is applied and removed`() async throws {
        let output = try await harness.make(try Fixtures.image("wide.png"), #""keySuffix":"x""#)
        let sample = try output.sample()
        // Adobe RGB's (100,200,100) converted by matrices and curves: red is below sRGB's zero.
        #expect(isClose(sample.pixel(4, 4), [0, 201, 93, 255], within: 2))
        #expect(sample.metadata.isEmpty)
    }

    @Test(arguments: ["gps.jpg", "gps.png", "gps.webp"])
    func `no output has the place where an image was taken`(name: String) async throws {
        let image = try Fixtures.image(name)
        #expect(!(try #require(PixelSample(image))).metadata.isEmpty, "the image carries some")
        let output = try await harness.make(
            image, #""keySuffix":"a","format":"jpeg""#, #""keySuffix":"b","format":"png""#,
            #""keySuffix":"c","format":"gif""#, #""keySuffix":"d","format":"webp""#,
            #""thumbnail":{"width":20,"height":20},"format":"webp""#)
        for (index, file) in output.files.enumerated() {
            #expect(try output.sample(index).metadata.isEmpty)
            for text in ["GPS", "Somewhere", "Camera", "xmp", "Exif"] {
                let isThere = contains(file, text)
                #expect(!isThere, "\(text) in output \(index)")
            }
        }
    }

    @Test(arguments: [("animated.gif", ImageFormat.gif, 3), ("animated.webp", .webp, 2), ("animated.png", .png, 2)])
    func `an animation is copied, or its first frame is transformed with transformsAnimated`(
        name: String, format: ImageFormat, frames: Int
    ) async throws {
        let image = try Fixtures.image(name)
        let variant = #""transform":[{"type":"resize","width":4,"height":4}]"#
        let copied = try await harness.make(image, variant)
        #expect(try copied.made().copied)
        #expect(try copied.made().format == format)
        #expect(copied.files[0] == image)
        #expect(copied.report.source.frames == frames)
        let drawn = try await harness.make(image, variant, options: .transformsAnimated)
        #expect(try !drawn.made().copied)
        #expect(try drawn.made().format == format)
        #expect(try drawn.sample().width == 4)
        #expect(try drawn.sample().height == 4)
    }

    @Test(arguments: ["truncated.jpg", "truncated.png"])
    func `a truncated file is undecodable`(name: String) async throws {
        let error = try await harness.refusal(try Fixtures.image(name))
        #expect(error?.code == .undecodable)
    }

    @Test func `truncated WebP, HEIC and AVIF are undecodable`() async throws {
        for name in ["still.webp", "still.heic", "still.avif"] {
            let image = try Fixtures.image(name)
            let error = try await harness.refusal(Array(image.prefix(image.count * 2 / 3)))
            #expect(error?.code == .undecodable, "\(name)")
        }
    }

    @Test(arguments: ["still.heic", "still.avif", "plain.jpg", "rgb.png", "still.webp"])
    func `data after the end of an image are ignored`(name: String) async throws {
        for tail in [String(repeating: " ", count: 16), String(repeating: "garbage", count: 50)] {
            #expect(try await harness.refusal(try Fixtures.image(name) + Array(tail.utf8)) == nil, "\(name)")
        }
    }

    @Test func `a file that is not an accepted image is undecodable`() async throws {
        for text in ["", "<html></html>", "BM and nothing more to it", "<svg></svg>", "%PDF-1.5", "II*\0\0\0\0\0"] {
            #expect(try await harness.refusal(Array(text.utf8))?.code == .undecodable, "\(text)")
        }
    }

    @Test func `headers that exceed a limit are refused before pixels are decoded`() async throws {
        #expect(try await harness.refusal(try Fixtures.image("bomb-edge.png"))?.code == .edge)
        #expect(try await harness.refusal(try Fixtures.image("bomb-pixels.png"))?.code == .pixels)
        let picky = PictureHarness { $0.frames = 2 }
        #expect(try await picky.refusal(try Fixtures.image("animated.gif"))?.code == .frames)
        let narrow = PictureHarness { $0.formats = [.png] }
        #expect(try await narrow.refusal(try Fixtures.image("plain.jpg"))?.code == .undecodable)
    }

    @Test func `an image of more than 100 MB is decoded without a temporary file`() async throws {
        let output = try await harness.make(
            try Fixtures.image("interlaced-large.png"), #""thumbnail":{"width":61,"height":60}"#)
        #expect(try output.made().width == 61)
        #expect(try output.made().height == 60)
    }

    @Test func `a variant that is too large fails alone`() async throws {
        let output = try await harness.make(
            try Fixtures.image("rgb.png"), #""transform":[{"type":"resize","width":9000,"height":10}]"#,
            #""transform":[{"type":"resize","width":8192,"height":10}]"#)
        if case .failure(let error) = output.report.variants[0] { #expect(error.code == .edge) }
        #expect(throws: TranscodeError.self) { try output.made(0) }
        #expect(try output.made(1).width == 8192)
    }

    @Test func `probe reads a header`() async throws {
        let file = try ScratchFile(try Fixtures.image("orientation-6.jpg"))
        let header = try await harness.transcoder.probe(file.descriptor)
        #expect(header.format == .jpeg)
        #expect(header.width == 60)
        #expect(header.height == 80)
        #expect(header.orientation == 6)
        #expect(header.uprightSize == PixelSize(width: 80, height: 60))
    }

    @Test func `the self-test reports what the codecs do`() async throws {
        let codecs = try await TranscodeHarness().pool.selfTest()
        #expect(codecs.libvips.hasPrefix("8."))
        #expect(Set(codecs.readable).isSuperset(of: [.jpeg, .png, .gif, .webp]))
        #expect(Set(codecs.writable).isSuperset(of: [.jpeg, .png, .gif, .webp]))
        #expect(codecs.strips.values.allSatisfy { $0 }, "\(codecs)")
        #expect(codecs.refusesTruncated["jpeg"] == true)
        #expect(codecs.refusesTruncated["png"] == true)
    }

    private func contains(_ file: [UInt8], _ text: String) -> Bool {
        let wanted = Array(text.utf8)
        return file.indices.contains { file[$0...].starts(with: wanted) }
    }
}
