import ImageModel
import TestTranscoder
import Testing

@testable import Codecs
@testable import Transcoder

/// Planes converted from the pixels of PNG and lossless WebP.
@Suite(.timeLimit(.minutes(5)))
struct ConvertedPlaneTests {
    private let planes = PictureHarness()
    private let libvips = PictureHarness { $0.allowsPlanes = false }
    private let small = #""thumbnail":{"width":20,"height":20},"format":"jpeg""#

    private func photo(_ width: Int, _ height: Int, seed: UInt64 = 1) -> SyntheticPhoto {
        var random = SeededRandom(seed)
        return SyntheticPhoto(width, height, &random)
    }

    private func path(_ file: [UInt8], _ variant: String) async throws -> String {
        let source = try ScratchFile(file)
        return try await planes.transcoder.plan(
            source.descriptor, variants: [try Variant(json: #"{"name":"v",\#(variant)}"#.utf8)]
        ).path
    }

    /// A quotient rounded to the nearest, halves up, at most 255.
    private func nearest(_ sum: Int, _ divisor: Int) -> UInt8 { UInt8(min(255, (2 * sum + divisor) / (2 * divisor))) }

    @Test func `luma and chroma are JFIF's, rounded to the nearest`() throws {
        let levels = Array(stride(from: 0, through: 255, by: 5)) + [1, 127, 128, 254]
        for red in levels {
            var pixels: [UInt8] = [], expected: [[UInt8]] = [[], [], []]
            for green in levels {
                for blue in levels {
                    pixels += [UInt8(red), UInt8(green), UInt8(blue)]
                    expected[0].append(nearest(299 * red + 587 * green + 114 * blue, 1000))
                    expected[1].append(nearest(886 * blue - 299 * red - 587 * green + 128 * 1772, 1772))
                    expected[2].append(nearest(701 * red - 587 * green - 114 * blue + 128 * 1402, 1402))
                }
            }
            let count = pixels.count / 3
            let image = try PlanarImage(uninitialized: PixelSize(width: count, height: 1), hasAlpha: false)
            image.fill(row: 0, pixels: pixels)
            let found = try image.inYCC(.full).planes.map { Array(UnsafeBufferPointer(start: $0.start, count: count)) }
            #expect(found == expected, "\(red)")
        }
    }

    @Test func `opaque PNG and lossless WebP of every size are decoded to planes`() async throws {
        for (width, height) in [(1, 1), (2, 3), (7, 5), (17, 9), (129, 65), (2047, 3)] {
            let photo = photo(width, height)
            for file in try SyntheticPNG.allCases.map({ $0.file(photo) }) + [photo.losslessWebP()] {
                let wanted = [
                    #""keySuffix":"a","format":"jpeg""#, #""keySuffix":"b","format":"webp""#,
                    #""keySuffix":"c","format":"jpeg","quality":95"#, small,
                ]
                #expect(try await path(file, wanted[0]) == "planes", "\(width)x\(height)")
                let one = try await planes.make(file, wanted[0], wanted[1], wanted[2], wanted[3])
                let other = try await libvips.make(file, wanted[0], wanted[1], wanted[2], wanted[3])
                for index in wanted.indices {
                    #expect(try one.made(index).width == other.made(index).width)
                    #expect(try one.made(index).height == other.made(index).height)
                    let distance = ExactImage(try one.sample(index)).psnr(ExactImage(try other.sample(index)))
                    #expect(distance > 24, "\(width)x\(height) \(index): \(distance)")
                }
            }
        }
    }

    @Test func `a one-bit grey PNG is decoded to planes and stays black`() async throws {
        let output = try await planes.make(SyntheticImage.black(50, 40), small)
        #expect(try await path(SyntheticImage.black(50, 40), small) == "planes")
        #expect(try output.sample().pixel(3, 3) == [0, 0, 0, 255])
    }

    @Test func `16-bit and animated files are decoded by libvips`() async throws {
        for name in ["rgb16.png", "white16.png", "animated.png", "animated.webp"] {
            #expect(try await path(try Fixtures.image(name), small) == "libvips", "\(name)")
        }
    }

    @Test func `transparent and interlaced files are shrunk by planes as by libvips`() async throws {
        let photo = photo(90, 70)
        var files = try ["alpha.png", "interlaced-large.png", "alpha.webp"].map { ($0, try Fixtures.image($0)) }
        for (kind, values) in [(SyntheticPNG.color, 6), (.grey, 2), (.palette, 200)] {
            let transparency = SyntheticImage.chunk("tRNS", (0..<values).map { UInt8($0 % 256) })
            files.append(("\(kind)", kind.file(photo, beforePixels: transparency)))
        }
        for (name, file) in files {
            for format in ["png", "webp", "jpeg"] {
                let wanted = #""thumbnail":{"width":20,"height":20},"keySuffix":"x","quality":95,"format":"\#(format)""#
                #expect(try await path(file, wanted) == "planes", "\(name)")
                let one = try await planes.make(file, wanted), other = try await libvips.make(file, wanted)
                let difference = try one.sample().maxDifference(from: other.sample())
                #expect(difference <= (format == "png" ? 5 : 12), "\(name) \(format): \(difference)")
                #expect(try one.sample().hasAlpha == other.sample().hasAlpha, "\(name) \(format)")
            }
        }
    }

    @Test(arguments: [(12, 13), (9, 1), (5, 5), (12, 8), (9, 16), (11, 17)])
    func `colours are converted by a profile as by libvips`(primaries: UInt8, transfer: UInt8) async throws {
        let photo = photo(70, 50), chunk = SyntheticImage.chunk("cICP", [primaries, transfer, 0, 1])
        let file = SyntheticPNG.color.file(photo, beforePixels: chunk)
        let wanted = #""keySuffix":"x","format":"png""#
        #expect(try await path(file, wanted) == "planes")
        let one = try await planes.make(file, wanted), other = try await libvips.make(file, wanted)
        #expect(try one.sample().maxDifference(from: other.sample()) <= 2)
    }

    @Test func `a JPEG with a profile is converted at the shrunk size as by libvips`() async throws {
        let file = try photo(200, 160).jpeg(["-quality", "95", "-icc", Fixtures.path("Images/wide.icc")])
        let wanted = #""thumbnail":{"width":90,"height":90},"keySuffix":"x","quality":95,"format":"jpeg""#
        #expect(try await path(file, wanted) == "planes")
        let one = ExactImage(try await planes.make(file, wanted).sample())
        let distance = one.psnr(ExactImage(try await libvips.make(file, wanted).sample()))
        let plain = try await libvips.make(try photo(200, 160).jpeg(["-quality", "95"]), wanted).sample()
        #expect(distance > 36, "\(distance)")
        #expect(one.psnr(ExactImage(plain)) < 34, "\(distance)")
    }

    private func isConverted(_ file: [UInt8], _ what: String, within tolerance: Int = 2) async throws {
        let wanted = #""thumbnail":{"width":30,"height":30},"keySuffix":"x","format":"png""#
        #expect(try await path(file, wanted) == "planes", "\(what)")
        let one = try await planes.make(file, wanted), other = try await libvips.make(file, wanted)
        let difference = try one.sample().maxDifference(from: other.sample())
        #expect(difference <= tolerance, "\(what): \(difference)")
        #expect(try one.sample().hasAlpha == other.sample().hasAlpha, "\(what)")
        #expect(try one.sample().metadata.isEmpty, "\(what)")
    }

    @Test func `grey images with a profile are converted by planes as by libvips, and stay grey`() async throws {
        let photo = photo(90, 70), gamma = SyntheticImage.chunk("gAMA", SyntheticImage.big(100_000))
        let transparency = SyntheticImage.chunk("tRNS", [0, 100])
        let jpeg = try photo.jpeg(
            ["-grayscale", "-quality", "95", "-icc", "/usr/share/color/icc/ghostscript/ps_gray.icc"])
        try await isConverted(SyntheticPNG.grey.file(photo, beforePixels: gamma), "png")
        try await isConverted(SyntheticPNG.grey.file(photo, beforePixels: gamma + transparency), "alpha", within: 4)
        try await isConverted(jpeg, "jpeg", within: 3)
        let plain = try await planes.make(try photo.jpeg(["-grayscale", "-quality", "95"]), small).sample()
        let made = try await planes.make(jpeg, small)
        #expect(try made.sample().maxDifference(from: plain) > 10)
        // One component after the size of the frame.
        let frame = try #require(made.files[0].indices.first { made.files[0][$0...].starts(with: [0xFF, 0xC0]) })
        #expect(made.files[0][frame + 9] == 1)
    }

    @Test func `an image with a profile of tables is decoded by libvips`() async throws {
        let chunk = SyntheticImage.chunk(
            "iCCP", Array("p".utf8) + [0, 0] + SyntheticImage.zlib(SyntheticImage.tableProfile()))
        let file = SyntheticPNG.color.file(photo(70, 50), beforePixels: chunk)
        #expect(try await path(file, small) == "libvips")
        let plain = try await planes.make(SyntheticPNG.color.file(photo(70, 50)), small).sample()
        #expect(try await planes.make(file, small).sample().maxDifference(from: plain) > 10)
    }

    @Test func `truncated files give the same error as with libvips`() async throws {
        let photo = photo(60, 50)
        for file in try SyntheticPNG.allCases.map({ $0.file(photo) }) + [photo.losslessWebP()] {
            // The last 16 bytes of a PNG are a checksum and the `IEND` chunk.
            for missing in [1, 4, 11, 12, 13, 16, 17, 40, file.count / 3, file.count - 60] {
                let part = Array(file.dropLast(missing))
                let one = try await planes.refusal(part, small), other = try await libvips.refusal(part, small)
                #expect(one?.code == other?.code, "\(file.count) less \(missing)")
            }
        }
    }

    @Test(arguments: [0 as UInt64, 1000, 2000])
    func `corrupt PNG and lossless WebP files give the same error as with libvips`(seed: UInt64) async throws {
        let photo = photo(60, 50, seed: seed)
        let files =
            try SyntheticPNG.allCases.map { $0.file(photo) } + [photo.losslessWebP(), Fixtures.image("rgb.png")]
        for step in seed..<seed + 60 {
            var random = SeededRandom(step)
            let file = files.randomElement(using: &random) ?? [], other = files.randomElement(using: &random) ?? []
            let corrupt = Mutation.random(of: file, splicing: other, &random)
            let one = try await planes.refusal(corrupt, small), two = try await libvips.refusal(corrupt, small)
            #expect(one?.code == two?.code, "\(step): \(String(describing: one)) \(String(describing: two))")
        }
    }

    @Test func `a PNG that is too large as planes is decoded by libvips in strips`() throws {
        var header = SourceHeader(format: .png, width: 8000, height: 6000)
        header.hasPlanes = true
        let variant = try Variant(json: #"{"name":"v","thumbnail":{"width":200,"height":200},"format":"jpeg"}"#.utf8)
        func plan(_ limits: TranscodeLimits) -> DecodePlan {
            DecodePlan(header, variants: [variant], scale: 1, limits: limits, writable: [.jpeg])
        }
        let whole = plan(TranscodeLimits())
        #expect(whole.path == .planes)
        #expect(whole.memoryBytes > 3 * 8000 * 6000)
        var limits = TranscodeLimits()
        limits.memoryBytes = 3 * 8000 * 6000
        #expect(plan(limits).path == .libvips)
        #expect(plan(limits).memoryBytes < limits.memoryBytes)
    }
}
