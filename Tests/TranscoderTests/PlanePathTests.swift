import ImageModel
import Testing
@testable import Transcoder

/// What goes by planes, and what of it is as by libvips.
@Suite(.timeLimit(.minutes(5)))
struct PlanePathTests {
    private let planes = TranscodeHarness()
    private let libvips = TranscodeHarness { $0.limits.allowsPlanes = false }
    private let small = #""thumbnail":{"width":20,"height":20}"#

    private func photo(_ width: Int, _ height: Int, seed: UInt64 = 1) -> MadePhoto {
        var random = SeededRandom(seed)
        return MadePhoto(width, height, &random)
    }

    private func path(_ file: [UInt8], _ variants: String...) async throws -> String {
        let source = try ScratchFile(file)
        let parsed = try variants.enumerated().map { try Variant(json: #"{"name":"v\#($0)",\#($1)}"#.utf8) }
        return try await planes.pool.plan(source.descriptor, variants: parsed).path
    }

    @Test(arguments: [
        ["-sample", "1x1"], ["-sample", "2x1"], ["-sample", "2x2"], ["-sample", "1x2"], ["-sample", "4x1"],
        ["-grayscale"], ["-progressive"], ["-arithmetic"],
    ])
    func `every usual kind of JPEG goes by planes, whatever its size`(options: [String]) async throws {
        for (width, height) in [(1, 1), (2, 3), (7, 5), (17, 9), (129, 65), (2047, 3)] {
            let file = try photo(width, height).jpeg(options)
            let variants = [
                #""keySuffix":"a","format":"jpeg""#, #""keySuffix":"b","format":"webp""#,
                #""keySuffix":"c","format":"jpeg","quality":95"#, #"\#(small),"format":"jpeg""#,
                #"\#(small),"format":"webp","keySuffix":"d""#,
            ]
            #expect(try await path(file, variants[0], variants[4]) == "planes", "\(width)x\(height)")
            let one = try await planes.make(file, variants[0], variants[1], variants[2], variants[3], variants[4])
            let other = try await libvips.make(file, variants[0], variants[1], variants[2], variants[3], variants[4])
            for index in variants.indices {
                #expect(try one.made(index).width == other.made(index).width)
                #expect(try one.made(index).height == other.made(index).height)
                let distance = ExactPicture(try one.sample(index)).psnr(ExactPicture(try other.sample(index)))
                #expect(distance > 24, "\(width)x\(height) \(index): \(distance)")
            }
        }
    }

    @Test func `what has other planes, or none, stays with libvips`() async throws {
        for name in ["cmyk.jpg", "rgb16.png", "alpha.png", "alpha.webp", "still.gif", "still.heic", "still.avif"] {
            #expect(try await path(try Fixtures.picture(name), #"\#(small),"format":"jpeg""#) == "libvips", "\(name)")
        }
        for options in [["-rgb"], ["-sample", "1x1,2x1,1x1"], ["-sample", "2x2,2x1,1x1"]] {
            let file = try photo(60, 40).jpeg(options)
            #expect(try await path(file, small) == "libvips", "\(options)")
            let dish = try await planes.make(file, small)
            #expect(try dish.made().width == 20)
        }
    }

    @Test func `one variant that planes cannot give keeps all with libvips`() async throws {
        let file = try photo(60, 40).jpeg([])
        #expect(try await path(file, small) == "planes")
        for other in [
            #""transform":[{"type":"blur","radius":3}]"#, #""keySuffix":"x","format":"png""#,
            #""transform":[{"type":"roundCorner","radius":3}]"#, #""transform":[{"type":"flip","horizontal":true}]"#,
            #""transform":[{"type":"resize","width":90,"height":90}]"#,
            #""transform":[{"type":"resize","width":30,"height":30,"scaleMode":"aspectFit"}]"#,
            #""keySuffix":"x","keepCopyright":true"#,
        ] {
            #expect(try await path(file, small, other) == "libvips", "\(other)")
        }
        let crop = #""transform":[{"type":"crop","x":900,"y":0,"width":5,"height":5}]"#
        #expect(try await path(file, small, crop) == "planes", "a variant that cannot be had needs no path")
        let source = try ScratchFile(file)
        let variant = try Variant(json: #"{"name":"v",\#(small)}"#.utf8)
        #expect(try await libvips.pool.plan(source.descriptor, variants: [variant]).path == "libvips")
    }

    @Test(arguments: [("jpeg", 80), ("jpeg", 89), ("jpeg", 90), ("jpeg", 1), ("webp", 75), ("webp", 0)])
    func `files are written with libvips' settings`(format: String, quality: Int) async throws {
        let file = try photo(161, 117).jpeg(["-quality", "98"])
        let variant = #"\#(small),"keySuffix":"x","format":"\#(format)","quality":\#(quality)"#
        let one = try await planes.make(file, variant), other = try await libvips.make(file, variant)
        if format == "jpeg" {
            #expect(markers(one.files[0]) == markers(other.files[0]))
        } else {
            // libvips' multiplexer puts the same frame into the extended container. Its start code and size, and before
            // them its kind, stand at the beginning.
            let frames = try [one, other].map { dish in
                let start = try #require(
                    dish.files[0].indices.first { dish.files[0][$0...].starts(with: Array("VP8 ".utf8)) })
                return Array(dish.files[0][(start + 8)...])
            }
            #expect(frames[0][3..<10] == frames[1][3..<10] && frames[0][0] & 0x1F == frames[1][0] & 0x1F)
        }
        #expect(try one.sample().metadata.isEmpty && one.made().quality == other.made().quality)
    }

    /// The segments of a JPEG up to its scan; of the Huffman tables, which fit their picture, only the kind.
    private func markers(_ file: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = [], offset = 2
        while offset + 4 < file.count, file[offset] == 0xFF, file[offset + 1] != 0xDA {
            let end = offset + 2 + Int(file[offset + 2]) << 8 + Int(file[offset + 3])
            found.append(Array(file[offset..<(file[offset + 1] == 0xC4 ? offset + 2 : min(end, file.count))]))
            offset = end
        }
        return found
    }

    @Test func `cut short and broken files end as they do by libvips`() async throws {
        for options in [[], ["-progressive"], ["-arithmetic"], ["-grayscale"]] as [[String]] {
            let file = try photo(90, 70).jpeg(options)
            for share in [4, 10, 30, 60, 90, 99] {
                let part = Array(file.prefix(file.count * share / 100))
                let one = try await planes.refusal(part, small), other = try await libvips.refusal(part, small)
                #expect(one?.code == other?.code, "\(options) \(share) %")
            }
        }
        let webp = try photo(90, 70).webp(quality: 80, isExtended: false)
        #expect(try await path(webp, small) == "planes")
        for share in [20, 60, 95] {
            #expect(try await planes.refusal(Array(webp.prefix(webp.count * share / 100)), small)?.code == .undecodable)
        }
    }

    @Test(arguments: [0 as UInt64, 1000, 2000, 3000])
    func `spoilt JPEG and WebP files end as they do by libvips`(seed: UInt64) async throws {
        let files = [
            try photo(90, 70).jpeg(["-restart", "1"]), try photo(64, 64, seed: 2).jpeg(["-progressive"]),
            try photo(33, 70, seed: 3).webp(quality: 70, isExtended: true),
            try photo(90, 41, seed: 4).jpeg(["-arithmetic", "-sample", "4x1"]),
        ]
        for step in seed..<seed + 40 {
            var random = SeededRandom(step)
            let file = files.randomElement(using: &random) ?? [], other = files.randomElement(using: &random) ?? []
            let spoilt = Mutation.random(of: file, beside: other, &random)
            let variant = #""thumbnail":{"width":30,"height":30},"format":"jpeg""#
            let one = try await planes.refusal(spoilt, variant), two = try await libvips.refusal(spoilt, variant)
            #expect(one?.code == two?.code, "\(step): \(String(describing: one)) \(String(describing: two))")
        }
    }

    @Test func `lossy WebP has its range, in the extended container, too`() async throws {
        for isExtended in [false, true] {
            let photo = photo(120, 90)
            let file = try photo.webp(quality: 95, isExtended: isExtended)
            let variants = [
                #""keySuffix":"a","format":"jpeg","quality":95"#, #""keySuffix":"b","format":"webp","quality":95"#,
            ]
            #expect(try await path(file, variants[0], variants[1]) == "planes")
            let dish = try await planes.make(file, variants[0], variants[1])
            let exact = ExactPicture(try #require(PixelSample(file)))
            for index in variants.indices {
                let distance = exact.psnr(ExactPicture(try dish.sample(index)))
                #expect(distance > 33, "a wrong range gives 28: \(distance)")
            }
        }
    }

    @Test(arguments: 1...8)
    func `every orientation is upright by planes, and odd sides have their chroma in place`(orientation: Int)
        async throws
    {
        for (width, height) in [(81, 59), (80, 59), (81, 60)] {
            let file = try photo(width, height).jpeg(["-quality", "95"], orientation: orientation)
            let exact = ExactPicture(try #require(PixelSample(file))).upright(orientation)
            let dish = try await planes.make(file, #""keySuffix":"a","quality":89"#)
            let reference = try await libvips.make(file, #""keySuffix":"a","quality":89"#)
            #expect(try dish.made().width == exact.width && dish.made().height == exact.height)
            let one = exact.psnr(ExactPicture(try dish.sample()))
            let other = exact.psnr(ExactPicture(try reference.sample()))
            #expect(one > other - 0.5, "\(width)x\(height): \(one) \(other)")
        }
    }

    @Test(arguments: ["1x1", "2x1", "2x2", "1x2", "4x1"])
    func `chroma written in full is enlarged as decoders do it`(sampling: String) async throws {
        for (width, height) in [(90, 70), (81, 59)] {
            let file = try photo(width, height).jpeg(["-quality", "95", "-sample", sampling])
            #expect(try await path(file, #""keySuffix":"a","quality":97"#) == "planes")
            let exact = ExactPicture(try #require(PixelSample(file)))
            let one = try await planes.make(file, #""keySuffix":"a","quality":97"#).sample()
            let other = try await libvips.make(file, #""keySuffix":"a","quality":97"#).sample()
            let (ours, reference) = (exact.psnr(ExactPicture(one)), exact.psnr(ExactPicture(other)))
            #expect(ours > reference - 0.25, "\(width)x\(height): \(ours) \(reference)")
        }
    }

    @Test func `both paths give nearly the same digest`() async throws {
        let file = try photo(400, 300).jpeg([])
        let one = try #require(try await planes.make(file, small).report.digest)
        let other = try #require(try await libvips.make(file, small).report.digest)
        let bits =
            try #require(UInt64(one.perceptualHash, radix: 16))
            ^ (try #require(UInt64(other.perceptualHash, radix: 16)))
        #expect(bits.nonzeroBitCount <= 12 && one.width == 400 && one.height == 300 && !one.hasAlpha)
        let color = try #require(Color(one.averageColor)), same = try #require(Color(other.averageColor))
        #expect(abs(color.red - same.red) < 0.01 && abs(color.green - same.green) < 0.01)
    }

    @Test func `an axis stays within its plane and weighs one, whatever it is asked`() {
        var random = SeededRandom(7)
        for _ in 0..<400 {
            let length = Int.random(in: 1...600, using: &random), count = Int.random(in: 1...300, using: &random)
            let step = Double.random(in: -9...9, using: &random), start = Double.random(in: -700...700, using: &random)
            let fine = PlaneAxis(count: count, length: length, start: start, step: step)
            for span in 1...5 {
                let coarse = (length + span - 1) / span
                let axis = span == 1 ? fine : PlaneAxis(fine, span: span, length: coarse)
                expectSound(axis, count: count, length: coarse, "\(length) \(count) \(start) \(step) \(span)")
            }
        }
    }

    private func expectSound(_ axis: PlaneAxis, count: Int, length: Int, _ what: String) {
        #expect(axis.first.count % 8 == 0 && axis.first.count >= count)
        #expect(axis.weights.count == axis.first.count * axis.taps)
        #expect(axis.first.allSatisfy { $0 >= 0 && Int($0) + axis.taps <= length }, "\(what)")
        for index in axis.first.indices {
            let sum = axis.weights[index * axis.taps..<(index + 1) * axis.taps].reduce(0, +)
            #expect(abs(sum - 1) < 0.001, "\(what)")
        }
    }

    @Test func `a view is resampling without enlarging, then cutting`() {
        let size = PixelSize(width: 100, height: 80), half = PixelSize(width: 50, height: 40)
        let part = PixelRect(x: 5, y: 0, width: 40, height: 40)
        #expect(PlaneView([], of: size)?.scaled == size)
        #expect(PlaneView([.scale(half), .crop(part)], of: size)?.window == part)
        #expect(PlaneView([.scale(half), .scale(PixelSize(width: 50, height: 41))], of: size) == nil)
        #expect(PlaneView([.crop(part), .scale(half)], of: size) == nil)
        #expect(PlaneView([.mirror(horizontal: true, vertical: false)], of: size) == nil)
    }
}
