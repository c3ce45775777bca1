import ImageModel
import Testing
@testable import Transcoder

/// How variants are written: formats, limits on bytes, profiles.
@Suite(.timeLimit(.minutes(5)))
struct EncodingTests {
    private let kitchen = TranscodeHarness()

    /// Enough detail that quality matters.
    private let photo = MadePicture.png(160, 120) { x, y in
        [UInt8((x * 7 + y * 3) % 256), UInt8((x * y) % 256), UInt8((x ^ y) * 2 % 256), 255]
    }

    @Test(arguments: ["jpeg", "png", "gif", "webp", "avif", "heic"])
    func `writes every format, and the colours are there again`(name: String) async throws {
        let picture = MadePicture.plain(64, 48, [200, 60, 30, 255])
        let dish = try await kitchen.make(picture, #""keySuffix":"x","format":"\#(name)""#)
        let made = try dish.made()
        #expect(made.format.name == name && made.replaced == nil && made.bytes == dish.files[0].count)
        #expect(ImageFormat.recognise(dish.files[0])?.name == name)
        let sample = try dish.sample()
        #expect(sample.width == 64 && sample.height == 48)
        #expect(isClose(sample.pixel(30, 20), [200, 60, 30, 255], within: 6), "\(sample.pixel(30, 20))")
        #expect(made.quality == (["png", "gif"].contains(name) ? nil : name == "avif" ? 50 : 80))
    }

    @Test(arguments: ["png", "webp", "avif", "heic"])
    func `transparency survives`(name: String) async throws {
        let picture = MadePicture.plain(32, 32, [0, 0, 255, 102])
        let dish = try await kitchen.make(picture, #""keySuffix":"x","format":"\#(name)""#)
        #expect(isClose(try dish.sample().pixel(9, 9), [0, 0, 255, 102], within: 8))
    }

    @Test(arguments: ["jpeg", "webp", "avif", "heic"])
    func `keeps to a limit on bytes with the highest quality that does`(name: String) async throws {
        let free = try await kitchen.make(photo, #""keySuffix":"x","format":"\#(name)""#)
        let limit = free.files[0].count * 2 / 3
        let dish = try await kitchen.make(photo, #""keySuffix":"x","format":"\#(name)","maxBytes":\#(limit)"#)
        let made = try dish.made()
        #expect(made.bytes <= limit && made.bytes == dish.files[0].count && !made.exceedsMaxBytes)
        let quality = try #require(made.quality)
        #expect(quality >= 1 && quality < (name == "avif" ? 50 : 80))
        let roomy = try await kitchen.make(photo, #""keySuffix":"x","format":"\#(name)","maxBytes":10000000"#)
        #expect(roomy.files[0] == free.files[0], "a limit far off changes nothing")
    }

    @Test(arguments: ["jpeg", "png"])
    func `a limit no quality keeps to is told of, and the smallest stays`(name: String) async throws {
        let dish = try await kitchen.make(photo, #""keySuffix":"x","format":"\#(name)","maxBytes":100"#)
        let made = try dish.made()
        #expect(made.exceedsMaxBytes && made.bytes > 100)
        #expect(made.quality == (name == "jpeg" ? 1 : nil))
    }

    @Test func `the search for a quality finds the highest that fits in few steps, whatever the limit`() {
        for highest in [1, 2, 50, 80, 100] {
            for limit in 0...highest + 1 {
                var search = QualitySearch(highest: highest), steps = 0, last = 0
                while let quality = search.next {
                    search.tell(fits: quality <= limit)
                    (steps, last) = (steps + 1, quality)
                }
                #expect(search.best == (limit == 0 ? nil : min(limit, highest)))
                #expect(steps <= 8)
                if limit == 0 { #expect(last == 1, "the lowest was tried") }
            }
        }
    }

    @Test func `a picture too large for an encoder gets another format, which is told`() async throws {
        let dish = try await kitchen.make(
            MadePicture.plain(8, 8, [9, 9, 9, 255]),
            #""transform":[{"type":"resize","width":2500,"height":2000}],"format":"heic""#)
        let made = try dish.made()
        #expect(made.format == .jpeg || made.format == .png)
        #expect(made.replaced == .heic && ImageFormat.recognise(dish.files[0]) == made.format)
    }

    @Test func `a profile is kept on demand, with the numbers it gives their meaning`() async throws {
        let wide = try Fixtures.picture("wide.png")
        for format in ["png", "jpeg", "webp", "avif", "heic"] {
            let dish = try await kitchen.make(
                wide, #""keySuffix":"a","keepICC":true,"format":"\#(format)""#,
                #""keySuffix":"b","format":"\#(format)""#)
            let kept = try dish.sample(0), plain = try dish.sample(1)
            #expect(kept.metadata.contains("icc-profile-data"), "\(format)")
            #expect(!plain.metadata.contains("icc-profile-data"), "\(format)")
            // Decoded by its profile the colour is the same again.
            #expect(isClose(kept.pixel(4, 4), plain.pixel(4, 4), within: 8), "\(format): \(kept.pixel(4, 4))")
        }
        let without = try await kitchen.make(photo, #""keySuffix":"a","keepICC":true"#)
        #expect(try without.sample().metadata.isEmpty)
    }

    @Test func `equal variants are written once and stand in every file`() async throws {
        let resize = #""transform":[{"type":"resize","width":40,"height":30}]"#
        let dish = try await kitchen.make(
            photo, resize, #"\#(resize),"keySuffix":"b""#, #"\#(resize),"keySuffix":"c","format":"webp""#,
            #""transform":[{"type":"resize","width":20,"height":15}]"#)
        #expect(dish.files[0] == dish.files[1] && ImageFormat.recognise(dish.files[2]) == .webp)
        #expect(try dish.made(3).width == 20)
    }
}
