import ImageModel
import TestSupport
import Testing

@testable import Codecs
@testable import Transcoder

/// Borders that are cut before anything else.
@Suite(.timeLimit(.minutes(5)))
struct TrimTests {
    private let harness = PictureHarness()

    /// 60 × 40 on white: a picture of 30 × 20 at 12, 7.
    private let framed = Self.framed([255, 255, 255, 255])

    private static func framed(_ border: [UInt8], noise: Int = 0) -> [UInt8] {
        SyntheticImage.png(60, 40) { x, y in
            if (12..<42).contains(x) && (7..<27).contains(y) { return [UInt8(x * 3), UInt8(y * 3), 90, 255] }
            return border.prefix(3).map { UInt8(max(0, Int($0) - (x * 7 + y * 5) % (noise + 1))) } + border.suffix(1)
        }
    }

    private func trimmed(_ image: [UInt8], _ trim: String = "{}", _ more: String = "") async throws -> PixelSample {
        try await harness.make(image, #""trim":\#(trim),"format":"png"\#(more)"#).sample()
    }

    private func plan(_ header: SourceHeader, _ variants: String...) throws -> DecodePlan {
        let variants = try variants.enumerated().map { try Variant(json: #"{"name":"v\#($0)",\#($1)}"#.utf8) }
        return DecodePlan(
            header, variants: variants, scale: 1, limits: TranscodeLimits(), writable: [.jpeg, .png, .webp])
    }

    @Test(arguments: [[255, 255, 255, 255], [10, 20, 200, 255], [0, 0, 0, 0], [90, 90, 90, 128]] as [[UInt8]])
    func `a border of the first pixel's colour is cut, transparent ones included`(border: [UInt8]) async throws {
        let sample = try await trimmed(Self.framed(border))
        #expect(sample.width == 30)
        #expect(sample.height == 20)
        #expect(sample.pixel(0, 0) == [36, 21, 90, 255])
        #expect(sample.pixel(29, 19) == [123, 78, 90, 255])
    }

    @Test func `the threshold is the largest difference within a border`() async throws {
        let noisy = Self.framed([255, 255, 255, 255], noise: 8)
        #expect(try await trimmed(noisy).width == 30)
        #expect(try await trimmed(noisy, #"{"threshold":1}"#).width > 50)
    }

    @Test func `a border of another colour than the given one stays`() async throws {
        #expect(try await trimmed(framed, ##"{"color":"#ffffffff"}"##).width == 30)
        #expect(try await trimmed(framed, ##"{"color":"#ff0000ff"}"##).width == 60)
        // Its colour is the same, its transparency is not.
        #expect(try await trimmed(framed, ##"{"color":"#00ffffff"}"##).width == 60)
    }

    @Test func `what differs in colour or in transparency is kept`() async throws {
        // On transparent black: a black bar, and a transparent red one.
        let image = SyntheticImage.png(50, 30) { x, y in
            if (5..<15).contains(x) && (10..<20).contains(y) { return [0, 0, 0, 255] }
            return (30..<40).contains(x) && (12..<24).contains(y) ? [255, 0, 0, 90] : [0, 0, 0, 0]
        }
        let sample = try await trimmed(image)
        #expect(sample.width == 35)
        #expect(sample.height == 14)
        #expect(sample.pixel(0, 0) == [0, 0, 0, 255])
        #expect(sample.pixel(34, 13) == [255, 0, 0, 90])
    }

    @Test(arguments: [(60, 40), (2, 9), (1, 1)])
    func `an image without anything but background, or too small, stays as it is`(width: Int, height: Int) async throws
    {
        let sample = try await trimmed(SyntheticImage.plain(width, height, [7, 8, 9, 255]))
        #expect(sample.width == width)
        #expect(sample.height == height)
        #expect(sample.pixel(0, 0) == [7, 8, 9, 255])
    }

    @Test func `the box equals the box of libvips' program`() async throws {
        let directory = try TemporaryDirectory()
        for seed in 1...6 {
            // Blocks of noise in a border, and single pixels, which do not count.
            let image = SyntheticImage.png(90, 70) { x, y in
                let inside = (seed * 4..<90 - seed * 5).contains(x) && (seed * 3..<70 - seed * 2).contains(y)
                if inside { return [UInt8(x * seed % 256), UInt8(y * 9 % 256), UInt8((x ^ y) * 3 % 256), 255] }
                return (x * 31 + y * 17) % 97 == 0 ? [0, 0, 0, 255] : [240, 238, 241, 255]
            }
            try directory.write(image, to: "\(seed).png")
            let script = #"vips extract_band "$1" "$1.v" 0 --n 3 && vips find_trim "$1.v" --background "240 238 241""#
            let outcome = try await RunningCommand(
                "/bin/sh", ["-c", script, "-", directory.file("\(seed).png")], environment: ["PATH": "/usr/bin:/bin"]
            ).outcome()
            try #require(outcome.code == 0, "\(String(decoding: outcome.errors, as: UTF8.self))")
            let box = String(decoding: outcome.output, as: UTF8.self).split { $0 == "\n" || $0 == " " }
                .compactMap { Int($0) }
            let sample = try await trimmed(image, ##"{"color":"#fff0eef1"}"##)
            #expect(box.count == 4, "\(seed): \(box)")
            #expect([sample.width, sample.height] == Array(box.suffix(2)), "\(seed): \(box)")
            #expect(try sample.pixel(0, 0) == #require(PixelSample(image)).pixel(box[0], box[1]))
        }
    }

    @Test func `sizes refer to the trimmed image`() async throws {
        let output = try await harness.make(
            framed, #""trim":{},"thumbnail":{"width":15,"height":15}"#,
            #""trim":{},"transform":[{"type":"resize","width":10,"height":10,"scaleMode":"aspectFill"}]"#,
            #""trim":{},"transform":[{"type":"crop","x":0,"y":0,"width":30,"height":5}],"format":"png""#,
            #""trim":{},"maxPixelSize":{"width":6,"height":99},"keySuffix":"x""#)
        let sizes = try (0...3).map { try [output.made($0).width, output.made($0).height] }
        #expect(sizes == [[15, 10], [10, 10], [30, 5], [6, 4]])
        for (index, size) in sizes.enumerated() {
            #expect(try [output.sample(index).width, output.sample(index).height] == size)
        }
        #expect(try output.sample(2).pixel(0, 0) == [36, 21, 90, 255])
    }

    /// With a border both would be 30 × 20.
    @Test func `variants with equal bounds are drawn each for itself, and equal ones once`() async throws {
        let output = try await harness.make(
            framed, #""trim":{},"thumbnail":{"width":30,"height":20}"#,
            #""trim":{},"transform":[{"type":"resize","width":30,"height":20,"scaleMode":"aspectFill"}]"#,
            #""trim":{"threshold":254},"thumbnail":{"width":30,"height":20}"#,
            #""trim":{},"thumbnail":{"width":30,"height":20},"keySuffix":"x""#)
        #expect(output.files[0] == output.files[3])
        #expect(output.files[0] != output.files[2])
        #expect(try output.sample(0).pixel(0, 0) == [36, 21, 90, 255])
        #expect(try output.sample(2).pixel(0, 0) == [255, 255, 255, 255])
        let header = SourceHeader(format: .png, width: 60, height: 40)
        let planned = try plan(
            header, #""trim":{},"thumbnail":{"width":30,"height":20}"#,
            #""trim":{},"transform":[{"type":"resize","width":30,"height":20}]"#,
            #""trim":{},"thumbnail":{"width":30,"height":20},"format":"webp""#)
        let outputs = try planned.outputs.map { try $0.get() }
        #expect(outputs[0].drawing.steps == outputs[1].drawing.steps)
        #expect(outputs[1].start == .base)
        #expect(outputs[2].start == .output(0))
        #expect(outputs[2].steps.isEmpty)
    }

    @Test func `equal trims share one part, which has the pixels of the image`() throws {
        // It needs libvips.
        #expect(PixelSample([]) == nil)
        func trim(_ json: String) throws -> Trim {
            try #require(try Variant(json: #"{"name":"v","trim":\#(json)}"#.utf8).trim)
        }
        let usual = try trim("{}"), other = try trim(#"{"threshold":9}"#)
        try framed.withUnsafeBytes { file in
            let whole = SharedImage(try LibvipsImage(.png, file).inSRGB().inMemory()), parts = TrimmedImages()
            let part = try parts.part(usual, of: whole)
            #expect(part.image.size == PixelSize(width: 30, height: 20))
            #expect(try parts.part(usual, of: whole) === part)
            #expect(try parts.part(other, of: whole) !== part)
        }
    }

    @Test func `trimmed variants are the same alone and together with others`() async throws {
        let variants = [
            #""trim":{},"thumbnail":{"width":20,"height":20},"format":"png""#,
            #""trim":{},"transform":[{"type":"blur","radius":2},{"type":"sharpen"}],"format":"png""#,
            #""trim":{"threshold":5},"transform":[{"type":"rotate","angle":0.3}],"format":"png""#,
            #""thumbnail":{"width":16,"height":16},"format":"png""#,
        ]
        let jpeg = try await harness.make(framed, #""format":"jpeg","quality":95"#).files[0]
        for image in [framed, jpeg] {
            let together = try await harness.make(image, variants[0], variants[1], variants[2], variants[3])
            // The last one alone would be shrunk while it is decoded.
            for index in 0..<3 {
                #expect(try await harness.make(image, variants[index]).files[0] == together.files[index], "\(index)")
            }
        }
    }

    @Test func `a transformer without a result on the trimmed image fails its variant alone`() async throws {
        let output = try await harness.make(
            framed, #""trim":{},"transform":[{"type":"crop","x":40,"y":0,"width":10,"height":10}]"#,
            #""trim":{},"keySuffix":"x""#)
        guard case .failure(let error) = output.report.variants[0] else {
            Issue.record("made")
            return
        }
        #expect(error.code == .transform)
        #expect(error.message.contains("the crop lies outside the image of 30×20 pixels"))
        #expect(try output.made(1).width == 30)
    }

    @Test func `margins that only the part has are drawn on the background`() async throws {
        // 60 × 40 fills 30 × 20; 20 × 20 does not.
        let square = SyntheticImage.png(60, 40) { x, y in
            (20..<40).contains(x) && (10..<30).contains(y) ? [200, 30, 30, 255] : [255, 255, 255, 255]
        }
        let fit = #""transform":[{"type":"resize","width":30,"height":20,"scaleMode":"aspectFit"}]"#
        let output = try await harness.make(
            square, ##""trim":{},\##(fit),"format":"jpeg","background":"#ff0000ff""##, #""trim":{},\#(fit)"#)
        #expect(isClose(try output.sample(0).pixel(1, 10), [0, 0, 255, 255], within: 20))
        #expect(isClose(try output.sample(0).pixel(15, 10), [200, 30, 30, 255], within: 20))
        #expect(try output.sample(1).pixel(1, 10)[3] == 0)
        #expect(try output.sample(1).hasAlpha)
    }

    @Test func `an animation shows its first frame without the border`() async throws {
        let animation = try Fixtures.image("animated.gif")
        let output = try await harness.make(
            animation, #""trim":{}"#, #""trim":{},"thumbnail":{"width":20,"height":20}"#,
            options: [.keepsAnimation, .transformsAnimated])
        for index in 0...1 {
            #expect(try output.made(index).frames == 1)
            #expect(try !output.made(index).copied)
        }
        #expect(try output.made(1).width == 20 || output.made(1).height == 20)
    }

    @Test func `the digest describes the whole image`() async throws {
        let trimmed = #""trim":{},"thumbnail":{"width":48,"height":48},"format":"png""#
        let whole = try await harness.make(framed, #""keySuffix":"x""#).report.digest
        let output = try await harness.make(framed, trimmed)
        #expect(whole != nil)
        #expect(output.report.digest == whole)
        let both = try await harness.make(framed, #""thumbnail":{"width":48,"height":48}"#, trimmed).report.digest
        #expect(both?.dominantColor == whole?.dominantColor)
        let part = try await harness.make(output.files[0], #""keySuffix":"x""#).report.digest
        #expect(part?.thumbHash != whole?.thumbHash)
        #expect(part?.dominantColor != whole?.dominantColor)
    }

    @Test func `a JPEG is cut by both paths, also when other variants use planes`() async throws {
        let jpeg = try await harness.make(framed, #""format":"jpeg","quality":95"#).files[0]
        let variants = (#""trim":{"threshold":40},"format":"png""#, #""thumbnail":{"width":20,"height":20}"#)
        let planes = try await harness.make(jpeg, variants.0, variants.1)
        let libvips = try await PictureHarness { $0.allowsPlanes = false }.make(jpeg, variants.0, variants.1)
        for output in [planes, libvips] {
            let sample = try output.sample(0)
            #expect((30...32).contains(sample.width))
            #expect((20...22).contains(sample.height))
            #expect(isClose(sample.pixel(15, 10), [81, 51, 90, 255], within: 12), "\(sample.pixel(15, 10))")
            #expect(try output.made(1).width == 20)
        }
        var header = SourceHeader(format: .jpeg, width: 4000, height: 3000)
        header.hasPlanes = true
        let plan = try plan(header, variants.0, variants.1)
        #expect(plan.path == .planes)
        #expect(plan.shrink == 1)
        #expect(plan.base == header.storedSize)
        #expect(try !plan.outputs[0].get().isPlanar)
        #expect(try plan.outputs[1].get().isPlanar)
        let small = try self.plan(header, variants.1)
        #expect(plan.memoryBytes > small.memoryBytes + 12_000_000 * 12)
        #expect(plan.decodingTime > small.decodingTime)
    }

    @Test func `a plan has the most that the size can be, and says so`() throws {
        let header = SourceHeader(format: .png, width: 4000, height: 1000)
        let trim = ##""trim":{"threshold":5,"color":"#ff000000"},"thumbnail":{"width":200,"height":300}"##
        let planned = try plan(header, trim)
        let output = try planned.outputs[0].get()
        #expect(output.drawing.size == PixelSize(width: 200, height: 300))
        #expect(planned.base == header.storedSize)
        let variant = try Variant(json: #"{"name":"v",\#(trim)}"#.utf8)
        #expect(
            PlanSummary(planned, header, variants: [variant], copies: [false]).lines[2]
                == "v: from decoded image → trim within 5.0 of #ff000000 → scale to 200×300 → png, at most 200×300")
        let without = try plan(header, #""thumbnail":{"width":200,"height":300}"#)
        #expect(planned.processorTime > without.processorTime)
        #expect(planned.memoryBytes > without.memoryBytes)
    }

    @Test(arguments: [(1, 100, 50), (6, 50, 100)])
    func `a part of a rotated file compares the box with its stored size`(
        orientation: Int, width: Int, height: Int
    ) throws {
        let header = SourceHeader(format: .jpeg, width: 800, height: 800, orientation: orientation)
        let picture = Drawing.Picture(
            thumbnail: Variant.Thumbnail(width: 100, height: 99), transforms: [], maxPixelSize: nil)
        let trim = try #require(try Variant(json: #"{"name":"v","trim":{}}"#.utf8).trim)
        let trimming = Trimming(trim, picture, header, scale: 1, limits: TranscodeLimits())
        let upright = PixelSize(width: orientation == 1 ? 400 : 200, height: orientation == 1 ? 200 : 400)
        #expect(try trimming.drawing(of: upright).size == PixelSize(width: width, height: height))
    }

    @Test(arguments: [
        (#""trim":{}"#, "LarderTrim(10.000000,(null))", #"{"name":"v","trim":{"threshold":10}}"#),
        (
            ##""trim":{"threshold":2.5,"color":"#80FF0000"},"transform":[{"type":"blur","radius":1}],"keySuffix":"x""##,
            "LarderTrim(2.500000,#80ff0000)-SDImageBlurTransformer(1.000000)-x", nil
        ),
    ])
    func `the key has the trim before the transformers`(fields: String, key: String, json: String?) throws {
        let variant = try Variant(json: #"{"name":"v",\#(fields)}"#.utf8)
        #expect(variant.keySuffixes == [key])
        #expect(try Variant(json: variant.canonicalJSON.utf8) == variant)
        if let json { #expect(variant.canonicalJSON == json) }
        let small = try Variant(
            json: #"{"name":"v","trim":{},"thumbnail":{"width":8,"height":9}}"#.utf8)
        #expect(small.keySuffixes == ["Thumbnail({8.000000,9.000000},1)", "LarderTrim(10.000000,(null))"])
    }

    @Test(arguments: [
        (#""trim":true"#, "trim: must be an object"),
        (#""trim":{"threshold":-1}"#, "trim.threshold: must be from 0 to 254"),
        (#""trim":{"threshold":255}"#, "trim.threshold: must be from 0 to 254"),
        (#""trim":{"color":"white"}"#, "trim.color: must be # and eight hexadecimal digits, alpha red green blue"),
        (#""trim":{"colour":1}"#, #"trim.colour: is not a known field; did you mean "color"?"#),
        (#""trim":{},"animation":"frames""#, "trim: is for one frame"),
    ])
    func `an invalid trim is refused with its path`(fields: String, expected: String) {
        let error = #expect(throws: VariantError.self) { try Variant(json: #"{"name":"v",\#(fields)}"#.utf8) }
        #expect(error?.description == "$.\(expected)")
    }
}
