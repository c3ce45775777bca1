@testable import ImageModel
import Testing
@testable import Transcoder

/// Real children, real codecs.
@Suite(.timeLimit(.minutes(5)))
struct TranscodeTests {
    private let kitchen = TranscodeHarness()

    @Test(arguments: [
        ("plain.jpg", ImageFormat.jpeg), ("progressive.jpg", .jpeg), ("cmyk.jpg", .jpeg), ("grey.jpg", .jpeg),
        ("rgb.png", .png), ("rgb16.png", .png), ("alpha.png", .png), ("still.gif", .gif), ("still.webp", .webp),
        ("alpha.webp", .webp), ("still.heic", .heic), ("still.avif", .jpeg),
    ])
    func `keeps the format, and gives AVIF another`(name: String, format: ImageFormat) async throws {
        let picture = try Fixtures.picture(name)
        let dish = try await kitchen.make(picture, #""thumbnail":{"width":40,"height":40}"#)
        let made = try dish.made()
        #expect(made.format == format && made.width == 40 && made.height == 30 && !made.copied)
        #expect(made.bytes == dish.files[0].count)
        #expect(ImageFormat.recognise(dish.files[0]) == format)
        let sample = try dish.sample()
        #expect(sample.width == 40 && sample.height == 30)
        #expect(dish.report.source.width == 80 && dish.report.source.frames == 1)
        #expect(dish.report.peakResidentBytes > 0 && dish.report.processorTime > .zero)
    }

    @Test func `writes every format that can be asked for, smaller at a lower quality`() async throws {
        let picture = try Fixtures.picture("rgb.png")
        let dish = try await kitchen.make(
            picture, #""keySuffix":"a","format":"jpeg""#, #""keySuffix":"b","format":"png""#,
            #""keySuffix":"c","format":"gif""#, #""keySuffix":"d","format":"webp""#,
            #""keySuffix":"e","format":"jpeg","quality":1"#, #""keySuffix":"f","format":"webp","quality":0"#)
        let formats = try dish.report.variants.map { try $0.get().format }
        #expect(formats == [.jpeg, .png, .gif, .webp, .jpeg, .webp])
        #expect(dish.files.map { ImageFormat.recognise($0) } == formats)
        #expect(dish.files[4].count < dish.files[0].count)
        #expect(dish.files[5].count < dish.files[3].count)
    }

    @Test(arguments: 1...8)
    func `every orientation comes out upright and without a tag`(orientation: Int) async throws {
        let picture = try Fixtures.picture("orientation-\(orientation).jpg")
        let dish = try await kitchen.make(picture, #""keySuffix":"x","format":"png""#)
        let made = try dish.made()
        #expect(made.width == 80 && made.height == 60)
        #expect(dish.report.source.orientation == orientation)
        let sample = try dish.sample()
        #expect(isClose(sample.pixel(5, 5), [255, 0, 0, 255], within: 20), "the red corner is at the top left")
        #expect(isClose(sample.pixel(75, 5), [236, 236, 244, 255], within: 20), "white is at the top")
        #expect(isClose(sample.pixel(40, 58), [4, 4, 130, 255], within: 20), "navy is at the bottom")
    }

    @Test func `aspect fit leaves transparency, which JPEG gets in white`() async throws {
        let fit = #""transform":[{"type":"resize","width":100,"height":100,"scaleMode":"aspectFit"}]"#
        let dish = try await kitchen.make(
            try Fixtures.picture("rgb.png"), fit, #"\#(fit),"format":"jpeg","keySuffix":"j""#)
        let png = try dish.sample(0), jpeg = try dish.sample(1)
        #expect(png.width == 100 && png.height == 100 && png.hasAlpha && !jpeg.hasAlpha)
        #expect(png.pixel(50, 2) == [0, 0, 0, 0])
        #expect(png.pixel(5, 50)[3] == 255)
        #expect(isClose(jpeg.pixel(50, 2), [255, 255, 255, 255], within: 6))
    }

    @Test func `alpha is resampled premultiplied: no dark fringe`() async throws {
        let dish = try await kitchen.make(
            try Fixtures.picture("alpha.png"), #""transform":[{"type":"resize","width":33,"height":25}]"#)
        let sample = try dish.sample()
        for x in 0..<33 {
            let pixel = sample.pixel(x, 12)
            if pixel[3] > 20 { #expect(isClose(pixel, [255, 0, 0, pixel[3]], within: 8), "at \(x): \(pixel)") }
        }
        #expect(isClose(sample.pixel(16, 12), [255, 0, 0, 128], within: 1))
    }

    @Test func `crops by the rule and fails one variant alone`() async throws {
        let crop = { (x: Int, y: Int) in #""transform":[{"type":"crop","x":\#(x),"y":\#(y),"width":30,"height":30}]"# }
        let dish = try await kitchen.make(try Fixtures.picture("rgb.png"), crop(-10, -10), crop(80, 0), crop(10, 5))
        #expect(try dish.made(0).width == 20 && dish.made(0).height == 20)
        #expect(try dish.sample(0).pixel(0, 0) == [255, 0, 0, 255])
        #expect(throws: TranscodeError.self) { try dish.made(1) }
        if case .failure(let error) = dish.report.variants[1] { #expect(error.code == .transform) }
        #expect(dish.files[1].isEmpty)
        #expect(try dish.made(2).width == 30)
    }

    @Test func `a key's scale factor enlarges points`() async throws {
        let dish = try await kitchen.make(
            try Fixtures.picture("rgb.png"), #""transform":[{"type":"resize","width":20,"height":10}]"#, scale: 2)
        #expect(try dish.made().width == 40 && dish.made().height == 20)
    }

    @Test func `an embedded profile is applied and gone`() async throws {
        let dish = try await kitchen.make(try Fixtures.picture("wide.png"), #""keySuffix":"x""#)
        let sample = try dish.sample()
        // Adobe RGB's (100,200,100) by the two matrices and curves: red lies below sRGB's zero.
        #expect(isClose(sample.pixel(4, 4), [0, 201, 93, 255], within: 2))
        #expect(sample.metadata.isEmpty)
    }

    @Test(arguments: ["gps.jpg", "gps.png", "gps.webp"])
    func `no place where a picture was taken is left in any output`(name: String) async throws {
        let picture = try Fixtures.picture(name)
        #expect(!(try #require(PixelSample(picture))).metadata.isEmpty, "the picture carries some")
        let dish = try await kitchen.make(
            picture, #""keySuffix":"a","format":"jpeg""#, #""keySuffix":"b","format":"png""#,
            #""keySuffix":"c","format":"gif""#, #""keySuffix":"d","format":"webp""#,
            #""thumbnail":{"width":20,"height":20},"format":"webp""#)
        for (index, file) in dish.files.enumerated() {
            #expect(try dish.sample(index).metadata.isEmpty)
            for text in ["GPS", "Somewhere", "Camera", "xmp", "Exif"] {
                let isThere = contains(file, text)
                #expect(!isThere, "\(text) in output \(index)")
            }
        }
    }

    @Test(arguments: [("animated.gif", ImageFormat.gif, 3), ("animated.webp", .webp, 2), ("animated.png", .png, 2)])
    func `an animated picture is copied, or transformed by its first frame if asked`(
        name: String, format: ImageFormat, frames: Int
    ) async throws {
        let picture = try Fixtures.picture(name)
        let variant = #""transform":[{"type":"resize","width":4,"height":4}]"#
        let copied = try await kitchen.make(picture, variant)
        #expect(try copied.made().copied && copied.made().format == format)
        #expect(copied.files[0] == picture)
        #expect(copied.report.source.frames == frames)
        let drawn = try await kitchen.make(picture, variant, transformsAnimated: true)
        #expect(try !drawn.made().copied && drawn.made().format == format)
        #expect(try drawn.sample().width == 4 && drawn.sample().height == 4)
    }

    @Test(arguments: ["truncated.jpg", "truncated.png"])
    func `a file cut short is undecodable, not half grey`(name: String) async throws {
        let error = try await kitchen.refusal(try Fixtures.picture(name))
        #expect(error?.code == .undecodable)
    }

    @Test func `every format cut short is undecodable or whole`() async throws {
        for name in ["still.webp", "still.heic", "still.avif"] {
            let picture = try Fixtures.picture(name)
            let error = try await kitchen.refusal(Array(picture.prefix(picture.count * 2 / 3)))
            #expect(error?.code == .undecodable, "\(name)")
        }
    }

    @Test func `what is no picture, or none that is accepted, is undecodable`() async throws {
        for text in ["", "<html></html>", "BM and nothing more to it", "<svg></svg>", "%PDF-1.5", "II*\0\0\0\0\0"] {
            #expect(try await kitchen.refusal(Array(text.utf8))?.code == .undecodable, "\(text)")
        }
    }

    @Test func `headers that promise too much are refused before a pixel is decoded`() async throws {
        #expect(try await kitchen.refusal(try Fixtures.picture("bomb-edge.png"))?.code == .edge)
        #expect(try await kitchen.refusal(try Fixtures.picture("bomb-pixels.png"))?.code == .pixels)
        let picky = TranscodeHarness { $0.limits.frames = 2 }
        #expect(try await picky.refusal(try Fixtures.picture("animated.gif"))?.code == .frames)
        let narrow = TranscodeHarness { $0.limits.formats = [.png] }
        #expect(try await narrow.refusal(try Fixtures.picture("plain.jpg"))?.code == .undecodable)
    }

    @Test func `a picture of more than 100 MB goes through no temporary file`() async throws {
        let dish = try await kitchen.make(
            try Fixtures.picture("interlaced-large.png"), #""thumbnail":{"width":61,"height":60}"#)
        #expect(try dish.made().width == 61 && dish.made().height == 60)
    }

    @Test func `a variant too large is refused, its neighbours are made`() async throws {
        let dish = try await kitchen.make(
            try Fixtures.picture("rgb.png"), #""transform":[{"type":"resize","width":9000,"height":10}]"#,
            #""transform":[{"type":"resize","width":8192,"height":10}]"#)
        if case .failure(let error) = dish.report.variants[0] { #expect(error.code == .edge) }
        #expect(throws: TranscodeError.self) { try dish.made(0) }
        #expect(try dish.made(1).width == 8192)
    }

    @Test func `a header can be had alone`() async throws {
        let file = try ScratchFile(try Fixtures.picture("orientation-6.jpg"))
        let header = try await kitchen.pool.probe(file.descriptor)
        #expect(header.format == .jpeg && header.width == 60 && header.height == 80 && header.orientation == 6)
        #expect(header.uprightSize == PixelSize(width: 80, height: 60))
    }

    @Test func `the codecs say what they can`() async throws {
        let codecs = try await kitchen.pool.selfTest()
        #expect(codecs.libvips.hasPrefix("8."))
        #expect(Set(codecs.readable).isSuperset(of: [.jpeg, .png, .gif, .webp]))
        #expect(Set(codecs.writable).isSuperset(of: [.jpeg, .png, .gif, .webp]))
        #expect(codecs.strips.values.allSatisfy { $0 }, "\(codecs)")
        #expect(codecs.refusesTruncated["jpeg"] == true && codecs.refusesTruncated["png"] == true)
    }

    private func contains(_ file: [UInt8], _ text: String) -> Bool {
        let wanted = Array(text.utf8)
        return file.indices.contains { file[$0...].starts(with: wanted) }
    }
}
