import Foundation
import ImageModel
import Testing

@testable import Codecs
@testable import Transcoder

/// Digests and placeholders.
@Suite(.timeLimit(.minutes(5)))
struct DigestTests {
    private let harness = PictureHarness()

    private func digest(_ image: [UInt8], _ variants: String = #""thumbnail":{"width":40,"height":40}"#) async throws
        -> ImageDigest
    {
        try #require(try await harness.make(image, variants).report.digest)
    }

    private func distance(_ one: ImageDigest, _ other: ImageDigest) throws -> Int {
        let first = try #require(UInt64(one.perceptualHash, radix: 16))
        let second = try #require(UInt64(other.perceptualHash, radix: 16))
        return (first ^ second).nonzeroBitCount
    }

    @Test func `an image of one colour has it as average and dominant colour`() async throws {
        let found = try await digest(SyntheticImage.plain(120, 80, [200, 60, 30, 255]))
        #expect(found.frames == 1)
        #expect(found.hasAlpha)
        #expect(found.averageColor == "#ffc83c1e")
        #expect(found.dominantColor == "#ffc83c1e")
        #expect(found.thumbHash.utf8.count >= 20)
        #expect(found.perceptualHash.utf8.count == 16)
    }

    @Test func `the dominant colour is the most frequent one, the average covers all pixels`() async throws {
        let found = try await digest(
            SyntheticImage.png(60, 60) { x, _ in x < 40 ? [255, 0, 0, 255] : [0, 0, 255, 255] })
        #expect(found.dominantColor == "#ffff0000")
        let average = try #require(Color(found.averageColor))
        #expect(abs(average.red - 2.0 / 3) < 0.03)
        #expect(abs(average.blue - 1.0 / 3) < 0.03)
    }

    @Test func `transparent pixels do not count`() async throws {
        let found = try await digest(
            SyntheticImage.png(64, 64) { x, _ in x < 32 ? [0, 255, 0, 255] : [255, 0, 0, 0] })
        #expect(found.hasAlpha)
        #expect(found.dominantColor == "#ff00ff00")
        let average = try #require(Color(found.averageColor))
        #expect(average.green > 0.97)
        #expect(average.red < 0.03)
        #expect(abs(average.alpha - 0.5) < 0.03)
    }

    @Test func `perceptual hashes match across format, size and quality, and differ for another image`() async throws {
        let photo = SyntheticImage.png(200, 150) { x, y in
            [UInt8(x), UInt8((x * y) / 150), UInt8(x < 60 && y > 40 ? 200 : 20), 255]
        }
        let one = try await digest(photo)
        let copy = try await harness.make(
            photo, #""thumbnail":{"width":120,"height":120},"format":"jpeg","quality":60"#)
        let same = try distance(one, try await digest(copy.files[0]))
        let other = try await digest(
            SyntheticImage.png(200, 150) { x, y in [UInt8(255 - x), UInt8(y), UInt8((x / 20 % 2) * 255), 255] })
        #expect(same <= 8, "\(same)")
        #expect(try distance(one, other) > 20, "\(same)")
    }

    @Test(arguments: [
        #""thumbnail":{"width":90,"height":40,"preserveAspectRatio":false}"#,
        #""transform":[{"type":"resize","width":20,"height":60}]"#,
        #""format":"png","thumbnail":{"width":40,"height":40}"#,
    ])
    func `a digest has the shape of the original, not of a stretched variant`(variant: String) async throws {
        let photo = SyntheticImage.png(120, 160) { x, y in [UInt8(x), UInt8(y), UInt8(x < 60 ? 200 : 20), 255] }
        let found = try await digest(photo, variant)
        // Three frequencies across and four down.
        #expect(found.blurHash.hasPrefix("T"))
    }

    /// Compared with the published program: an image of one colour has no frequencies.
    @Test func `a ThumbHash has the published form`() throws {
        let bytes = [UInt8](repeating: 255, count: 4 * 16)
        let white = ThumbHash.base64(DigestPixels(width: 4, height: 4, bytes: bytes))
        let hash = try #require(Data(base64Encoded: white))
        // l is 63 of 63, p and q are 32, all scales are 0; 7 columns.
        #expect(hash[0] == 0x3F)
        #expect(hash[1] == 0x08)
        #expect(hash[2] == 0x02)
        #expect(hash[3] == 0x07)
        #expect(hash[4] == 0)
        #expect(hash.count == 5 + (27 + 5 + 5 + 1) / 2)
    }

    @Test func `a request without variants has a digest unless wantsDigest is false`() async throws {
        let source = try ScratchFile(try Fixtures.image("orientation-6.jpg"))
        var request = TranscodeRequest(source: source.descriptor, variants: [], outputs: [])
        let report = try await harness.transcode(request)
        #expect(report.digest != nil)
        #expect(report.source.uprightSize == PixelSize(width: 80, height: 60))
        request.wantsDigest = false
        #expect(try await harness.transcode(request).digest == nil)
    }
}
