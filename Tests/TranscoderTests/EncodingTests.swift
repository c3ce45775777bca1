import ImageModel
import Testing

@testable import Codecs
@testable import Transcoder

/// Encoding: formats, limits on bytes, profiles.
@Suite(.timeLimit(.minutes(5)))
struct EncodingTests {
    private let harness = PictureHarness()

    /// With enough detail for the quality to matter.
    private let photo = SyntheticImage.png(160, 120) { x, y in
        [UInt8((x * 7 + y * 3) % 256), UInt8((x * y) % 256), UInt8((x ^ y) * 2 % 256), 255]
    }

    @Test(arguments: ["jpeg", "png", "gif", "webp", "avif", "heic"])
    func `every format is written and decodes to the same colours`(name: String) async throws {
        let image = SyntheticImage.plain(64, 48, [200, 60, 30, 255])
        let output = try await harness.make(image, #""keySuffix":"x","format":"\#(name)""#)
        let made = try output.made()
        #expect(made.format.name == name)
        #expect(made.replaced == nil)
        #expect(made.bytes == output.files[0].count)
        #expect(ImageFormat.recognise(output.files[0])?.name == name)
        let sample = try output.sample()
        #expect(sample.width == 64)
        #expect(sample.height == 48)
        #expect(isClose(sample.pixel(30, 20), [200, 60, 30, 255], within: 6), "\(sample.pixel(30, 20))")
        #expect(made.quality == (["png", "gif"].contains(name) ? nil : name == "avif" ? 50 : 80))
    }

    @Test(arguments: ["png", "webp", "avif", "heic"])
    func `transparency is kept`(name: String) async throws {
        let image = SyntheticImage.plain(32, 32, [0, 0, 255, 102])
        let output = try await harness.make(image, #""keySuffix":"x","format":"\#(name)""#)
        #expect(isClose(try output.sample().pixel(9, 9), [0, 0, 255, 102], within: 8))
    }

    @Test(arguments: ["jpeg", "webp", "avif", "heic"])
    func `a limit on bytes is met at the highest possible quality`(name: String) async throws {
        let free = try await harness.make(photo, #""keySuffix":"x","format":"\#(name)""#)
        let limit = free.files[0].count * 2 / 3
        let output = try await harness.make(photo, #""keySuffix":"x","format":"\#(name)","maxBytes":\#(limit)"#)
        let made = try output.made()
        #expect(made.bytes <= limit)
        #expect(made.bytes == output.files[0].count)
        #expect(!made.exceedsMaxBytes)
        let quality = try #require(made.quality)
        #expect(quality >= 1 && quality < (name == "avif" ? 50 : 80))
        let roomy = try await harness.make(photo, #""keySuffix":"x","format":"\#(name)","maxBytes":10000000"#)
        #expect(roomy.files[0] == free.files[0], "a limit far off changes nothing")
    }

    @Test(arguments: ["jpeg", "png"])
    func `where no quality meets the limit the smallest file is written and reported`(name: String) async throws {
        let output = try await harness.make(photo, #""keySuffix":"x","format":"\#(name)","maxBytes":100"#)
        let made = try output.made()
        #expect(made.exceedsMaxBytes)
        #expect(made.bytes > 100)
        #expect(made.quality == (name == "jpeg" ? 1 : nil))
    }

    @Test func `the quality search finds the highest quality that fits in at most 8 steps`() {
        for highest in [1, 2, 50, 80, 100] {
            for limit in 0...highest + 1 {
                var search = QualitySearch(highest: highest), steps = 0, last = 0
                while let quality = search.next {
                    search.record(fits: quality <= limit)
                    (steps, last) = (steps + 1, quality)
                }
                #expect(search.best == (limit == 0 ? nil : min(limit, highest)))
                #expect(steps <= 8)
                if limit == 0 { #expect(last == 1, "the lowest was tried") }
            }
        }
    }

    @Test func `an image too large for an encoder is written in another format, which is reported`() async throws {
        let output = try await harness.make(
            SyntheticImage.plain(8, 8, [9, 9, 9, 255]),
            #""transform":[{"type":"resize","width":2500,"height":2000}],"format":"heic""#)
        let made = try output.made()
        #expect(made.format == .jpeg || made.format == .png)
        #expect(made.replaced == .heic)
        #expect(ImageFormat.recognise(output.files[0]) == made.format)
    }

    @Test func `keepICC keeps the profile together with the unconverted colours`() async throws {
        let wide = try Fixtures.image("wide.png")
        for format in ["png", "jpeg", "webp", "avif", "heic"] {
            let output = try await harness.make(
                wide, #""keySuffix":"a","keepICC":true,"format":"\#(format)""#,
                #""keySuffix":"b","format":"\#(format)""#)
            let kept = try output.sample(0), plain = try output.sample(1)
            #expect(kept.metadata.contains("icc-profile-data"), "\(format)")
            #expect(!plain.metadata.contains("icc-profile-data"), "\(format)")
            // Decoded with its profile, the colour is the same.
            #expect(isClose(kept.pixel(4, 4), plain.pixel(4, 4), within: 8), "\(format): \(kept.pixel(4, 4))")
        }
        let without = try await harness.make(photo, #""keySuffix":"a","keepICC":true"#)
        #expect(try without.sample().metadata.isEmpty)
    }

    @Test func `equal variants are encoded once and written to every file`() async throws {
        let resize = #""transform":[{"type":"resize","width":40,"height":30}]"#
        let output = try await harness.make(
            photo, resize, #"\#(resize),"keySuffix":"b""#, #"\#(resize),"keySuffix":"c","format":"webp""#,
            #""transform":[{"type":"resize","width":20,"height":15}]"#)
        #expect(output.files[0] == output.files[1])
        #expect(ImageFormat.recognise(output.files[2]) == .webp)
        #expect(try output.made(3).width == 20)
    }
}
