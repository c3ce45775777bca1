import ImageModel
import TestTranscoder
import Testing

@testable import Codecs
@testable import Transcoder

/// Which images are decoded to planes, and how the results compare with libvips.
@Suite(.timeLimit(.minutes(5)))
struct PlanePathTests {
    private let planes = PictureHarness()
    private let libvips = PictureHarness { $0.allowsPlanes = false }
    private let small = #""thumbnail":{"width":20,"height":20}"#

    private func photo(_ width: Int, _ height: Int, seed: UInt64 = 1) -> SyntheticPhoto {
        var random = SeededRandom(seed)
        return SyntheticPhoto(width, height, &random)
    }

    private func path(_ file: [UInt8], _ variants: String...) async throws -> String {
        let source = try ScratchFile(file)
        let parsed = try variants.enumerated().map { try Variant(json: #"{"name":"v\#($0)",\#($1)}"#.utf8) }
        return try await planes.transcoder.plan(source.descriptor, variants: parsed).path
    }

    @Test(arguments: [
        ["-sample", "1x1"], ["-sample", "2x1"], ["-sample", "2x2"], ["-sample", "1x2"], ["-sample", "4x1"],
        ["-grayscale"], ["-progressive"], ["-arithmetic"],
    ])
    func `every usual kind of JPEG, of every size, is decoded to planes`(options: [String]) async throws {
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
                let distance = ExactImage(try one.sample(index)).psnr(ExactImage(try other.sample(index)))
                #expect(distance > 24, "\(width)x\(height) \(index): \(distance)")
            }
        }
    }

    @Test func `files with other planes or none are decoded by libvips`() async throws {
        for name in ["cmyk.jpg", "rgb16.png", "still.gif", "still.heic", "still.avif"] {
            #expect(try await path(try Fixtures.image(name), #"\#(small),"format":"jpeg""#) == "libvips", "\(name)")
        }
        for options in [["-rgb"], ["-sample", "1x1,2x1,1x1"], ["-sample", "2x2,2x1,1x1"]] {
            let file = try photo(60, 40).jpeg(options)
            #expect(try await path(file, small) == "libvips", "\(options)")
            let output = try await planes.make(file, small)
            #expect(try output.made().width == 20)
        }
    }

    @Test func `a variant that planes cannot give is made by libvips from their pixels, and the others by planes`()
        async throws
    {
        let file = try photo(60, 40).jpeg([])
        let alone = try await planes.make(file, small).files[0]
        for other in [
            #""transform":[{"type":"blur","radius":3}]"#, #""keySuffix":"x","format":"png""#,
            #""transform":[{"type":"roundCorner","radius":3}]"#, #""transform":[{"type":"flip","horizontal":true}]"#,
            #""transform":[{"type":"resize","width":90,"height":90}]"#,
            #""transform":[{"type":"resize","width":30,"height":30,"scaleMode":"aspectFit"}]"#,
            #""transform":[{"type":"crop","x":10,"y":5,"width":30,"height":30},{"type":"resize","width":9,"height":9}]"#,
            #"\#(small),"transform":[{"type":"flip","horizontal":true},{"type":"crop","x":1,"y":2,"width":9,"height":7}]"#,
            #"\#(small),"transform":[{"type":"rotate","angle":0.3}],"format":"webp""#,
            #"\#(small),"format":"avif","keySuffix":"x","quality":90"#, #""keySuffix":"x","keepCopyright":true"#,
        ] {
            #expect(try await path(file, small, other) == "planes", "\(other)")
            let one = try await planes.make(file, small, other), two = try await libvips.make(file, small, other)
            #expect(try one.made(1).width == two.made(1).width)
            #expect(try one.made(1).height == two.made(1).height)
            let distance = ExactImage(try one.sample(1)).psnr(ExactImage(try two.sample(1)))
            #expect(distance > 32, "\(other): \(distance)")
            let first = ExactImage(try one.sample(0)).psnr(ExactImage(try #require(PixelSample(alone))))
            #expect(first > 34, "\(other): \(first)")
        }
        #expect(try await path(file, small, #""keySuffix":"x","keepICC":true"#) == "planes", "there is no profile")
        let crop = #""transform":[{"type":"crop","x":900,"y":0,"width":5,"height":5}]"#
        #expect(try await path(file, small, crop) == "planes", "a variant that cannot be made does not count")
        let source = try ScratchFile(file)
        let variant = try Variant(json: #"{"name":"v",\#(small)}"#.utf8)
        #expect(try await libvips.transcoder.plan(source.descriptor, variants: [variant]).path == "libvips")
    }

    @Test(arguments: [("jpeg", 80), ("jpeg", 89), ("jpeg", 90), ("jpeg", 1), ("webp", 75), ("webp", 0)])
    func `files written from planes have libvips' settings`(format: String, quality: Int) async throws {
        let file = try photo(161, 117).jpeg(["-quality", "98"])
        let variant = #"\#(small),"keySuffix":"x","format":"\#(format)","quality":\#(quality)"#
        let one = try await planes.make(file, variant), other = try await libvips.make(file, variant)
        if format == "jpeg" {
            #expect(markers(one.files[0]) == markers(other.files[0]))
        } else {
            // libvips' multiplexer puts the same frame into the extended container. The frame's kind, start code and
            // size come first.
            let frames = try [one, other].map { output in
                let start = try #require(
                    output.files[0].indices.first { output.files[0][$0...].starts(with: Array("VP8 ".utf8)) })
                return Array(output.files[0][(start + 8)...])
            }
            #expect(frames[0][3..<10] == frames[1][3..<10])
            #expect(frames[0][0] & 0x1F == frames[1][0] & 0x1F)
        }
        #expect(try one.sample().metadata.isEmpty)
        #expect(try one.made().quality == other.made().quality)
    }

    @Test(arguments: [80, 95])
    func `grey images are written as JPEG with one component, and as WebP without colour`(quality: Int) async throws {
        let photo = photo(161, 117)
        for (name, file) in [("jpeg", try photo.jpeg(["-grayscale"])), ("png", SyntheticPNG.grey.file(photo))] {
            for options in ["", #","encode":{"progressive":true}"#, #","encode":{"chromaSubsampling":"4:2:0"}"#] {
                let wanted = #""thumbnail":{"width":50,"height":50},"format":"jpeg","quality":\#(quality)"# + options
                #expect(try await path(file, wanted) == "planes")
                let one = try await planes.make(file, wanted), other = try await libvips.make(file, wanted)
                #expect(components(one.files[0]) == 1, "\(name)\(options)")
                #expect(one.files[0].count < other.files[0].count, "\(name)\(options)")
                let distance = ExactImage(try one.sample()).psnr(ExactImage(try other.sample()))
                #expect(distance > 32, "\(name)\(options): \(distance)")
            }
            let webp = try await planes.make(
                file, #""thumbnail":{"width":51,"height":51},"format":"webp","quality":\#(quality)"#)
            let sample = try webp.sample()
            for (x, y) in [(0, 0), (25, 18), (sample.width - 1, sample.height - 1)] {
                let pixel = sample.pixel(x, y)
                #expect(pixel[0] == pixel[1], "\(name): \(pixel)")
                #expect(pixel[1] == pixel[2], "\(name): \(pixel)")
            }
            let cut = #""thumbnail":{"width":50,"height":50},"transform":[{"type":"roundCorner","radius":9}]"#
            let png = try await planes.make(file, cut + #","format":"png""#).sample()
            let pixel = png.pixel(25, 18)
            #expect(pixel[0] == pixel[1])
            #expect(pixel[1] == pixel[2])
            #expect(png.hasAlpha)
        }
    }

    /// The number of components in a JPEG's frame header.
    private func components(_ file: [UInt8]) -> Int? {
        markers(file).first { [0xC0, 0xC1, 0xC2].contains($0[1]) }.map { Int($0[9]) }
    }

    /// The segments of a JPEG up to its scan; of Huffman tables, which depend on the image, only the marker.
    private func markers(_ file: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = [], offset = 2
        while offset + 4 < file.count, file[offset] == 0xFF, file[offset + 1] != 0xDA {
            let end = offset + 2 + Int(file[offset + 2]) << 8 + Int(file[offset + 3])
            found.append(Array(file[offset..<(file[offset + 1] == 0xC4 ? offset + 2 : min(end, file.count))]))
            offset = end
        }
        return found
    }

    @Test func `truncated files of every kind give the same error as with libvips`() async throws {
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
    func `corrupt JPEG and WebP files give the same error as with libvips`(seed: UInt64) async throws {
        let files = [
            try photo(90, 70).jpeg(["-restart", "1"]), try photo(64, 64, seed: 2).jpeg(["-progressive"]),
            try photo(33, 70, seed: 3).webp(quality: 70, isExtended: true),
            try photo(90, 41, seed: 4).jpeg(["-arithmetic", "-sample", "4x1"]),
        ]
        for step in seed..<seed + 40 {
            var random = SeededRandom(step)
            let file = files.randomElement(using: &random) ?? [], other = files.randomElement(using: &random) ?? []
            let corrupt = Mutation.random(of: file, splicing: other, &random)
            let variant = #""thumbnail":{"width":30,"height":30},"format":"jpeg""#
            let one = try await planes.refusal(corrupt, variant), two = try await libvips.refusal(corrupt, variant)
            #expect(one?.code == two?.code, "\(step): \(String(describing: one)) \(String(describing: two))")
        }
    }

    @Test func `lossy WebP is converted from its range, also in the extended container`() async throws {
        for isExtended in [false, true] {
            let photo = photo(120, 90)
            let file = try photo.webp(quality: 95, isExtended: isExtended)
            let variants = [
                #""keySuffix":"a","format":"jpeg","quality":95"#, #""keySuffix":"b","format":"webp","quality":95"#,
            ]
            #expect(try await path(file, variants[0], variants[1]) == "planes")
            let output = try await planes.make(file, variants[0], variants[1])
            let exact = ExactImage(try #require(PixelSample(file)))
            for index in variants.indices {
                let distance = exact.psnr(ExactImage(try output.sample(index)))
                #expect(distance > 33, "a wrong range gives 28: \(distance)")
            }
        }
    }

    @Test(arguments: 1...8)
    func `every orientation is upright with planes, and chroma is aligned in images of odd size`(orientation: Int)
        async throws
    {
        for (width, height) in [(81, 59), (80, 59), (81, 60)] {
            let file = try photo(width, height).jpeg(["-quality", "95"], orientation: orientation)
            let exact = ExactImage(try #require(PixelSample(file))).upright(orientation)
            let output = try await planes.make(file, #""keySuffix":"a","quality":89"#)
            let reference = try await libvips.make(file, #""keySuffix":"a","quality":89"#)
            #expect(try output.made().width == exact.width)
            #expect(try output.made().height == exact.height)
            let one = exact.psnr(ExactImage(try output.sample()))
            let other = exact.psnr(ExactImage(try reference.sample()))
            #expect(one > other - 0.5, "\(width)x\(height): \(one) \(other)")
        }
    }

    @Test(arguments: ["1x1", "2x1", "2x2", "1x2", "4x1"])
    func `chroma written as 4:4:4 is upsampled as by decoders`(sampling: String) async throws {
        for (width, height) in [(90, 70), (81, 59)] {
            let file = try photo(width, height).jpeg(["-quality", "95", "-sample", sampling])
            #expect(try await path(file, #""keySuffix":"a","quality":97"#) == "planes")
            let exact = ExactImage(try #require(PixelSample(file)))
            let one = try await planes.make(file, #""keySuffix":"a","quality":97"#).sample()
            let other = try await libvips.make(file, #""keySuffix":"a","quality":97"#).sample()
            let (ours, reference) = (exact.psnr(ExactImage(one)), exact.psnr(ExactImage(other)))
            #expect(ours > reference - 0.25, "\(width)x\(height): \(ours) \(reference)")
        }
    }

    @Test func `planes and libvips give nearly the same digest`() async throws {
        let file = try photo(400, 300).jpeg([])
        let one = try #require(try await planes.make(file, small).report.digest)
        let other = try #require(try await libvips.make(file, small).report.digest)
        let bits =
            try #require(UInt64(one.perceptualHash, radix: 16))
            ^ (try #require(UInt64(other.perceptualHash, radix: 16)))
        #expect(bits.nonzeroBitCount <= 12)
        #expect(!one.hasAlpha)
        #expect(one.frames == 1)
        let color = try #require(Color(one.averageColor)), same = try #require(Color(other.averageColor))
        #expect(abs(color.red - same.red) < 0.01)
        #expect(abs(color.green - same.green) < 0.01)
    }

    @Test func `a filter stays within its plane, and its weights sum to 1`() {
        var random = SeededRandom(7)
        for _ in 0..<400 {
            let length = Int.random(in: 1...600, using: &random), count = Int.random(in: 1...300, using: &random)
            let step = Double.random(in: -9...9, using: &random), start = Double.random(in: -700...700, using: &random)
            let fine = FilterTable(count: count, length: length, start: start, step: step)
            for factor in 1...5 {
                let coarse = (length + factor - 1) / factor
                let table = factor == 1 ? fine : FilterTable(fine, factor: factor, length: coarse)
                expectSound(table, count: count, length: coarse, "\(length) \(count) \(start) \(step) \(factor)")
            }
        }
    }

    private func expectSound(_ axis: FilterTable, count: Int, length: Int, _ what: String) {
        #expect(axis.first.count % 8 == 0)
        #expect(axis.first.count >= count)
        #expect(axis.weights.count == axis.first.count * axis.taps)
        #expect(axis.first.allSatisfy { $0 >= 0 && Int($0) + axis.taps <= length }, "\(what)")
        for index in axis.first.indices {
            let sum = axis.weights[index * axis.taps..<(index + 1) * axis.taps].reduce(0, +)
            #expect(abs(sum - 1) < 0.001, "\(what)")
        }
    }

    @Test func `a view holds resampling without enlarging, then cutting and mirroring`() {
        let size = PixelSize(width: 100, height: 80), half = PixelSize(width: 50, height: 40)
        let part = PixelRect(x: 5, y: 0, width: 40, height: 40)
        func view(_ steps: DrawStep...) -> (view: PlaneView, rest: Int) {
            var rest: ArraySlice<DrawStep> = []
            let view = PlaneView(steps, of: size, rest: &rest)
            return (view, rest.count)
        }
        #expect(view().view.scaled == size)
        #expect(view().rest == 0)
        #expect(view(.scale(half), .crop(part)).view.window == part)
        #expect(view(.scale(half), .scale(PixelSize(width: 50, height: 41))).rest == 1)
        #expect(view(.crop(part), .scale(half), .crop(part)).rest == 2)
        let mirrored = view(.crop(part), .mirror(horizontal: true, vertical: false), .crop(part))
        #expect(mirrored.view.mirrorsColumns)
        #expect(!mirrored.view.mirrorsRows)
        #expect(mirrored.rest == 0)
        #expect(mirrored.view.window.x == 100 - 45 + 5)
        #expect(mirrored.view.window.y == 0)
        #expect(view(.scale(half), .blur(box: 3), .crop(part)).rest == 2)
    }
}
