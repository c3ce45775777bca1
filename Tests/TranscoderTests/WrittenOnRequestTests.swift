import ImageModel
import TestSupport
import Testing

@testable import Codecs
@testable import Transcoder

/// JPEG XL and TIFF as formats of a variant; files of these formats are read on request only.
@Suite(.timeLimit(.minutes(5)))
struct WrittenOnRequestTests {
    private let harness = PictureHarness()
    private let reading = PictureHarness { $0.formats.formUnion([.jxl, .tiff]) }
    private let clear = SyntheticImage.png(64, 48) { x, y in [UInt8(x * 4), UInt8(y * 5), 77, UInt8(x * 3 + y)] }

    /// An opaque PNG with detail.
    private func photo(_ width: Int, _ height: Int) -> [UInt8] {
        var rows: [UInt8] = []
        for y in 0..<height {
            rows.append(0)
            for x in 0..<width {
                rows += [UInt8((x * 7 + y * 3) % 256), UInt8((x * y) / 80 % 256), UInt8((x ^ y) * 2 % 256)]
            }
        }
        return SyntheticImage.png(SyntheticImage.big(width) + SyntheticImage.big(height) + [8, 2, 0, 0, 0], rows)
    }

    private func plan(_ header: SourceHeader, _ fields: String, limits: TranscodeLimits = TranscodeLimits()) throws
        -> DecodePlan
    {
        DecodePlan(
            header, variants: [try Variant(json: #"{"name":"v",\#(fields)}"#.utf8)], scale: 1, limits: limits,
            writable: [.jpeg, .png, .jxl, .tiff])
    }

    @Test(arguments: [
        #""format":"tiff""#, #""format":"tiff","encode":{"compression":"deflate"}"#,
        #""format":"tiff","encode":{"compression":"packbits"}"#, #""format":"tiff","encode":{"compression":"none"}"#,
        #""format":"jxl","encode":{"lossless":true}"#, #""format":"jxl","encode":{"effort":4,"lossless":true}"#,
    ])
    func `a lossless file has every pixel, transparent ones included`(fields: String) async throws {
        for image in [photo(160, 120), clear] {
            let output = try await harness.make(image, fields)
            let original = try #require(PixelSample(image)), sample = try output.sample()
            #expect(sample.width == original.width)
            #expect(sample.height == original.height)
            #expect(sample.hasAlpha == original.hasAlpha)
            #expect(sample.maxDifference(from: original) == 0)
            #expect(try output.made().quality == nil)
            #expect(try !output.made().copied)
            // As a source it is read where it is allowed, and only there.
            let again = try await reading.make(output.files[0], #""keySuffix":"x","format":"png""#)
            #expect(try again.sample().maxDifference(from: original) == 0)
            #expect(try await harness.refusal(output.files[0])?.code == .undecodable)
        }
    }

    @Test(arguments: [
        ("jxl", "", "Q=75,effort=5"), ("jxl", #","quality":40,"encode":{"effort":3}"#, "Q=40,effort=3"),
        ("jxl", #","quality":1"#, "Q=5,effort=5"), ("tiff", "", "compression=lzw,predictor=horizontal"),
        ("tiff", #","encode":{"compression":"deflate"}"#, "compression=deflate,predictor=horizontal"),
    ])
    func `the pixels equal libvips' pixels with the same settings`(
        format: String, fields: String, options: String
    ) async throws {
        let directory = try TemporaryDirectory(), image = photo(160, 120)
        try directory.write(image, to: "in.png")
        let outcome = try await RunningCommand(
            "/usr/bin/vips", ["copy", directory.file("in.png"), directory.file("out.\(format)[\(options),strip]")],
            environment: ["VIPS_CONCURRENCY": "1"]
        ).outcome()
        try #require(outcome.code == 0, "\(String(decoding: outcome.errors, as: UTF8.self))")
        let theirs = try Fixtures.bytes(directory.file("out.\(format)"))
        let output = try await harness.make(image, #""format":"\#(format)"\#(fields)"#)
        #expect(try output.sample().maxDifference(from: #require(PixelSample(theirs))) == 0)
        #expect(output.files[0].count == theirs.count)
        #expect(ImageFormat.recognise(theirs)?.name == format)
    }

    @Test func `quality and maxBytes decide about the length of a JPEG XL`() async throws {
        let image = photo(160, 120)
        let output = try await harness.make(
            image, #""format":"jxl""#, #""format":"jxl","quality":90"#, #""format":"jxl","quality":30"#)
        let sizes = output.files.map(\.count)
        #expect(sizes[1] > sizes[0])
        #expect(sizes[0] > sizes[2])
        let limit = (sizes[0] + sizes[2]) / 2
        let made = try await harness.make(image, #""format":"jxl","maxBytes":\#(limit)"#).made()
        #expect(made.bytes <= limit)
        #expect(made.quality.map { (30..<75).contains($0) } == true)
    }

    @Test func `a JPEG XL is compared with the drawn pixels, and stays refused as a source`() async throws {
        let image = photo(160, 120)
        let output = try await harness.make(image, #""format":"jxl","ssim":0.95"#)
        let made = try output.made(), quality = try #require(made.quality)
        #expect(quality > 1)
        #expect(quality < 95)
        #expect(made.ssim.map { $0 >= 0.95 } == true)
        let lower = try await harness.make(image, #""format":"jxl","ssim":0.95,"quality":\#(quality - 1)"#)
        #expect(try #require(lower.made().ssim) < 0.95)
        #expect(try await harness.refusal(output.files[0])?.code == .undecodable)
    }

    @Test func `both keep a profile, and no copyright`() async throws {
        let wide = try Fixtures.image("wide.png")
        for format in ["jxl", "tiff"] {
            let output = try await harness.make(
                wide, #""format":"\#(format)","keepICC":true,"keepCopyright":true"#, #""format":"\#(format)""#)
            let kept = try output.sample(0), plain = try output.sample(1)
            #expect(kept.metadata.contains("icc-profile-data"))
            #expect(isClose(kept.pixel(4, 4), plain.pixel(4, 4), within: 8))
            // The same numbers without the profile would be another colour.
            #expect(output.files[0] != output.files[1])
        }
    }

    @Test func `a variant without a format never becomes one of them`() async throws {
        for name in ["still.jxl", "still.tiff"] {
            let output = try await reading.make(try Fixtures.image(name), #""thumbnail":{"width":20,"height":20}"#)
            let made = try output.made()
            #expect(made.format == (try output.sample().hasAlpha ? .png : .jpeg) && made.replaced == nil)
        }
    }

    @Test(arguments: [
        #""format":"jxl""#, #""format":"jxl","encode":{"effort":7}"#, #""format":"jxl","encode":{"effort":8}"#,
        #""format":"jxl","encode":{"lossless":true}"#, #""format":"tiff","encode":{"compression":"deflate"}"#,
    ])
    func `the memory that a child takes is at most the estimate`(fields: String) async throws {
        let harness = PictureHarness { $0.memoryBytes = 2 << 30 }
        let idle = try await harness.make(photo(8, 8), fields).report.peakResidentBytes
        let image = photo(1000, 800)
        let report = try await harness.make(image, fields).report
        let estimate = try plan(report.source, fields).memoryBytes
        #expect(report.peakResidentBytes - idle < estimate, "\(report.peakResidentBytes - idle) of \(estimate)")
    }

    @Test func `work beyond the limits is refused before it starts, with its error`() async throws {
        let large = SourceHeader(format: .png, width: 4000, height: 4000)
        let slow = try plan(large, #""format":"jxl","encode":{"effort":9,"lossless":true}"#)
        #expect(#expect(throws: TranscodeError.self) { try slow.outputs[0].get() }?.code == .time)
        let narrow = PictureHarness { $0.memoryBytes = 64 << 20 }
        let image = photo(1600, 1200)
        let output = try await narrow.make(image, #""format":"jxl""#, #""format":"tiff""#)
        #expect(#expect(throws: TranscodeError.self) { try output.made(0) }?.code == .memory)
        #expect(try output.made(1).format == .tiff)
    }

    @Test func `estimates follow effort, losslessness and compression`() throws {
        let header = SourceHeader(format: .png, width: 1000, height: 1000)
        func time(_ fields: String) throws -> Duration { try plan(header, fields).outputTimes[0] }
        let times = [
            try time(#""format":"tiff","encode":{"compression":"packbits"}"#), try time(#""format":"tiff""#),
            try time(#""format":"jxl","encode":{"effort":3}"#), try time(#""format":"jxl""#),
            try time(#""format":"jxl","encode":{"effort":8}"#),
            try time(#""format":"jxl","encode":{"effort":8,"lossless":true}"#),
        ]
        #expect(times == times.sorted())
        #expect(Set(times).count == times.count)
        #expect(try plan(header, #""format":"jxl""#).memoryBytes > plan(header, #""format":"tiff""#).memoryBytes)
    }

    @Test(arguments: [
        (#""format":"jxl""#, "LarderFormat(jxl)"), (#""format":"tiff","keySuffix":"x""#, "LarderFormat(tiff)-x"),
        (
            #""format":"jxl","transform":[{"type":"blur","radius":5}],"encode":{"effort":7},"ssim":0.9"#,
            "SDImageBlurTransformer(5.000000)-LarderFormat(jxl)-LarderEncoding(effort=7)-LarderQuality(ssim=0.900000)"
        ),
        (#""format":"tiff","encode":{"compression":"none"}"#, "LarderFormat(tiff)-LarderEncoding(compression=none)"),
    ])
    func `the key names the format`(fields: String, key: String) throws {
        let variant = try Variant(json: #"{"name":"v",\#(fields)}"#.utf8)
        #expect(variant.keySuffixes == [key])
        #expect(try Variant(json: variant.canonicalJSON.utf8) == variant)
    }

    @Test(arguments: [
        (#""format":"jxl","encode":{"effort":2}"#, "encode.effort: must be a whole number from 3 to 9"),
        (#""format":"jxl","encode":{"compression":5}"#, "encode.compression: is not a field of jxl"),
        (#""format":"tiff","encode":{"compression":5}"#, "encode.compression: must be a string"),
        (
            #""format":"tiff","encode":{"compression":"jpeg"}"#,
            "encode.compression: must be one of lzw, deflate, packbits, none"
        ),
        (#""format":"png","encode":{"compression":"lzw"}"#, "encode.compression: must be a number"),
        (#""format":"tiff","encode":{"lossless":true}"#, "encode.lossless: is not a field of tiff"),
        (#""format":"tiff","ssim":0.9"#, "ssim: is not a field of tiff"),
        (#""format":"jxl","encode":{"lossless":true},"ssim":0.9"#, "ssim: contradicts lossless"),
    ])
    func `a setting that a format does not have is refused with its path`(fields: String, expected: String) {
        let error = #expect(throws: VariantError.self) { try Variant(json: #"{"name":"v",\#(fields)}"#.utf8) }
        #expect(error?.description == "$.\(expected)")
    }
}
