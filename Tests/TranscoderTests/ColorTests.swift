import Foundation
import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

/// Colours of images without a profile, and of 16-bit images with one.
@Suite(.timeLimit(.minutes(5)))
struct ColorTests {
    private let harness = PictureHarness()

    /// A PNG of 8 × 8 pixels of one colour, 8 bits.
    private func png(_ color: [UInt8], _ chunks: [UInt8]) -> [UInt8] {
        let rows = (0..<8).flatMap { _ in [0] + [[UInt8]](repeating: color, count: 8).joined() }
        let header = SyntheticImage.big(8) + SyntheticImage.big(8) + [8, color.count == 1 ? 0 : 2, 0, 0, 0]
        return SyntheticImage.png(header, rows, beforePixels: chunks)
    }

    private func gamma(_ value: Int) -> [UInt8] { SyntheticImage.chunk("gAMA", SyntheticImage.big(value)) }

    private func codePoints(_ primaries: UInt8, _ transfer: UInt8) -> [UInt8] {
        SyntheticImage.chunk("cICP", [primaries, transfer, 0, 1])
    }

    private func profile(_ bytes: [UInt8]) -> [UInt8] {
        SyntheticImage.chunk("iCCP", Array("p".utf8) + [0, 0] + SyntheticImage.zlib(bytes))
    }

    /// The first pixel of an image written as PNG.
    private func drawn(_ image: [UInt8]) async throws -> [Int] {
        try await harness.make(image, #""format":"png""#).sample().pixel(4, 4)
    }

    private func isNear(_ found: [Int], _ expected: [Int], within tolerance: Int = 1) -> Bool {
        zip(found, expected).allSatisfy { abs($0 - $1) <= tolerance }
    }

    struct Coded: Sendable {
        let primaries: UInt8
        let color: [UInt8]
        let expected: [Int]
    }

    // The numbers were computed apart from this code, by the primaries of ITU-T H.273.
    private static let coded = [
        Coded(primaries: 12, color: [200, 100, 100], expected: [215, 93, 97]),
        Coded(primaries: 12, color: [60, 120, 180], expected: [30, 122, 185]),
        Coded(primaries: 9, color: [120, 160, 90], expected: [88, 165, 78]),
        Coded(primaries: 1, color: [60, 120, 180], expected: [60, 120, 180]),
        Coded(primaries: 2, color: [60, 120, 180], expected: [60, 120, 180]),
    ]

    @Test(arguments: coded)
    func `the code points of a PNG are applied`(_ coded: Coded) async throws {
        let found = try await drawn(png(coded.color, codePoints(coded.primaries, 13)))
        #expect(isNear(found, coded.expected), "\(found)")
    }

    @Test func `a table for the perceptual intent alone is applied, as in an XYB JPEG`() async throws {
        let color: [UInt8] = [200, 60, 30]
        let relative = try await drawn(png(color, profile(SyntheticImage.tableProfile())))
        let perceptual = try await drawn(png(color, profile(SyntheticImage.tableProfile("A2B0"))))
        #expect(isNear(perceptual, relative, within: 2), "\(perceptual) \(relative)")
        #expect(!isNear(perceptual, color.map(Int.init), within: 20), "\(perceptual)")
    }

    @Test func `code points count before a profile, a profile before a gamma`() async throws {
        let wide = try Fixtures.image("wide.icc"), color: [UInt8] = [100, 200, 100]
        let byProfile = try await drawn(png(color, profile(wide)))
        #expect(byProfile != [100, 200, 100, 255])
        #expect(try await drawn(png(color, profile(wide) + gamma(100_000))) == byProfile)
        #expect(try await drawn(png(color, codePoints(1, 13) + profile(wide))) == [100, 200, 100, 255])
    }

    @Test func `the gamma and the chromaticities of a PNG are applied`() async throws {
        #expect(isNear(try await drawn(png([55, 55, 55], gamma(100_000))), [128, 128, 128]))
        #expect(isNear(try await drawn(png([55], gamma(100_000))), [128, 128, 128]), "grey")
        #expect(isNear(try await drawn(png([100, 100, 100], gamma(55_556))), [119, 119, 119]), "1/1.8")
        // 1/2.2 means sRGB, and so does any gamma together with the chunk `sRGB`.
        #expect(try await drawn(png([55, 99, 7], gamma(45_455))) == [55, 99, 7, 255])
        let named = SyntheticImage.chunk("sRGB", [0])
        #expect(try await drawn(png([55, 99, 7], named + gamma(100_000))) == [55, 99, 7, 255])
        let p3 = [31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000].flatMap(SyntheticImage.big)
        let wide = try await drawn(png([200, 100, 100], gamma(45_455) + SyntheticImage.chunk("cHRM", p3)))
        #expect(isNear(wide, [215, 93, 97]), "\(wide)")
        // No primaries can be these.
        for white in [
            [23_648, 8909, 60_000, 5000, 20_000, 80_000, 10_000, 2000],
            [9612, 13_990, 60_000, 20_000, 5000, 80_000, 2000, 2000],
        ] {
            let bytes = white.flatMap { number in (0..<4).map { UInt8(number >> (24 - 8 * $0) & 255) } }
            let odd = try await drawn(png([200, 100, 100], gamma(45_455) + SyntheticImage.chunk("cHRM", bytes)))
            #expect(odd == [200, 100, 100, 255], "a white that cannot be adapted")
        }
        let flat = SyntheticImage.chunk("cHRM", [UInt8](repeating: 0, count: 32))
        #expect(try await drawn(png([55, 99, 7], gamma(45_455) + flat)) == [55, 99, 7, 255])
    }

    @Test(arguments: [UInt8(16), 18])
    func `high dynamic range is shown on an SDR display, white below the peak`(transfer: UInt8) async throws {
        var last = -1
        for number in stride(from: 0, through: 255, by: 51) {
            let byte = UInt8(number)
            let grey = try await drawn(png([byte, byte, byte], codePoints(9, transfer)))[0]
            #expect(grey >= last)
            last = grey
        }
        #expect(last == 255)
        #expect(try await drawn(png([0, 0, 0], codePoints(9, transfer))) == [0, 0, 0, 255])
        // 50 cd/m² are 50/203 of the SDR white; the tone curve begins above them.
        guard transfer == 16 else { return }
        #expect(isNear(try await drawn(png([112, 112, 112], codePoints(9, 16))), [136, 136, 136], within: 2))
    }

    @Test func `an HLG and a PQ image of the same light look the same`() {
        // 203 cd/m² on a display of 1,000, ITU-R BT.2408, table 1.
        let (hlg, pq) = (TransferCurve.hlg.decoded(0.75), TransferCurve.pq.decoded(0.5807))
        #expect(abs(hlg - pq) < 0.005, "\(hlg) \(pq)")
        #expect((0.5...0.9).contains(pq), "\(hlg) \(pq)")
        #expect(abs(TransferCurve.decodedPQ(TransferCurve.encodedPQ(nits: 203)) - 203) < 0.01)
    }

    @Test func `the code points of an AVIF are applied`() async throws {
        var image = try Fixtures.image("still.avif")
        let plain = try await drawn(image)
        let start = try #require(image.indices.first { image[$0...].starts(with: Array("nclx".utf8)) })
        image.replaceSubrange(start + 4..<start + 8, with: [0, 12, 0, 13])
        let wide = try await drawn(image)
        // The red corner: more red than sRGB has, so that the others end at 0.
        #expect(wide != plain)
        #expect(wide[0] >= plain[0])
        #expect(wide[1] <= plain[1])
        image.replaceSubrange(start + 4..<start + 8, with: [0, 1, 0, 1])
        #expect(try await drawn(image) == plain, "BT.709 is drawn as sRGB")
    }

    @Test(arguments: ["p3.avif", "p3.heic"])
    func `a colour of Display P3 by code points becomes the same colour of sRGB`(name: String) async throws {
        let color = try await drawn(try Fixtures.image(name))
        #expect(isNear(color, [215, 93, 97], within: 3), "\(color)")
    }

    /// A frame of a film in PQ, 10 bits, a photograph with a gain map, whose base is SDR, and one in PQ, 16 bits.
    @Test(
        .enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"),
        arguments: ["TestHDR.avif", "TestHDR.heic", "TestHDR.jxl"])
    func `an HDR image of SDWebImage's is drawn for SDR`(name: String) async throws {
        let image = try Fixtures.bytes("\(Fixtures.shared ?? "")/\(name)")
        let open = PictureHarness { $0.formats.formUnion(ImageFormat.acceptedOnRequest) }
        let sample = try await open.make(
            image, #""thumbnail":{"width":64,"height":64},"format":"png""#
        ).sample()
        let luma = (0..<sample.height).flatMap { y in (0..<sample.width).map { sample.pixel($0, y)[1] } }
        // Not compressed into a few levels, and neither black nor white as a whole.
        #expect(luma.max() ?? 0 > 150, "\(luma.min() ?? 0) \(luma.max() ?? 0)")
        #expect(luma.min() ?? 255 < 60, "\(luma.min() ?? 0) \(luma.max() ?? 0)")
        let mean = luma.reduce(0, +) / max(1, luma.count)
        #expect((30...200).contains(mean), "\(mean)")
    }

    @Test func `an AVIF with premultiplied colours has the colours of the straight one`() async throws {
        let straight = try #require(PixelSample(try Fixtures.image("alpha.png")))
        let output = try await harness.make(try Fixtures.image("premultiplied.avif"), #""format":"png""#).sample()
        #expect(output.maxDifference(from: straight) <= 4)
        #expect(isNear(output.pixel(40, 30), straight.pixel(40, 30), within: 4), "\(output.pixel(40, 30))")
    }

    @Test func `black ink is nearly black, with a profile and without`() async throws {
        let ink = try Fixtures.image("cmyk-black.jpg")
        let profile = [UInt8](try Data(contentsOf: URL(filePath: "/usr/share/color/icc/ghostscript/default_cmyk.icc")))
        let pieces = stride(from: 0, to: profile.count, by: 65_000).map {
            profile[$0..<min($0 + 65_000, profile.count)]
        }
        let segments = pieces.enumerated().flatMap { index, piece in
            let body = Array("ICC_PROFILE\0".utf8) + [UInt8(index + 1), UInt8(pieces.count)] + piece
            return [0xFF, 0xE2, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 255)] + body
        }
        // Without black point compensation they are 55, 53, 53 and 41, 35, 43.
        let withProfile = try await drawn(ink.prefix(2) + segments + ink.dropFirst(2))
        #expect(isNear(withProfile, [35, 31, 32]), "\(withProfile)")
        let without = try await drawn(ink)
        #expect(isNear(without, [12, 0, 19]), "\(without)")
    }

    @Test(arguments: [true, false])
    func `a 16-bit PNG with alpha and a profile keeps its translucency`(isGrey: Bool) async throws {
        let alphas = [0, 13364, 26471, 39835, 53199, 65535]
        var rows: [UInt8] = []
        for _ in 0..<6 {
            rows.append(0)
            for alpha in alphas {
                let samples = [Int](repeating: 40000, count: isGrey ? 1 : 3) + [alpha]
                rows += samples.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
            }
        }
        let header = SyntheticImage.big(6) + SyntheticImage.big(6) + [16, isGrey ? 4 : 6, 0, 0, 0]
        let image = SyntheticImage.png(header, rows, beforePixels: gamma(100_000))
        let sample = try await harness.make(image, #""format":"png""#).sample()
        #expect((0..<6).map { sample.pixel($0, 3)[3] } == [0, 52, 103, 155, 207, 255])
        // 0.61 of the light.
        #expect(isNear(sample.pixel(5, 3), [205, 205, 205]), "\(sample.pixel(5, 3))")
    }

    @Test func `a cut APNG, HEIC, AVIF or AVIF sequence is refused`() async throws {
        for name in ["animated.png", "still.heic", "still.avif", "animated.avif"] {
            let image = try Fixtures.image(name)
            #expect(try await harness.refusal(image) == nil, "\(name)")
            for missing in [1, 13, image.count / 3] {
                #expect(try await harness.refusal(image.dropLast(missing))?.code == .undecodable, "\(name) \(missing)")
            }
        }
    }

    @Test func `a description and its profile agree about sRGB`() throws {
        let plain = ColorDescription(primaries: 1, transfer: 13), wide = ColorDescription(primaries: 12, transfer: 13)
        #expect(plain.isSRGB)
        #expect(!wide.isSRGB)
        #expect(ICCProfile.isSRGB(try #require(plain.profile(isGrey: false))))
        #expect(!ICCProfile.isSRGB(try #require(wide.profile(isGrey: false))))
        #expect(ICCProfile.space(try #require(wide.profile(isGrey: true))) == "GRAY")
        #expect(ColorDescription(primaries: 2, transfer: 2).isSRGB)
        #expect(ColorDescription(primaries: 1, transfer: 1).isSRGB)
    }

    @Test func `a file may end anywhere, and its numbers may be any`() throws {
        for name in ["still.avif", "still.heic", "premultiplied.avif", "animated.avif", "animated.png", "wide.png"] {
            let image = try Fixtures.image(name)
            for length in 0..<min(image.count, 1500) {
                var cut = Array(image.prefix(length))
                read(cut)
                cut = image
                cut[length] ^= 0xFF
                read(cut)
            }
        }
    }

    private func read(_ file: [UInt8]) {
        file.withUnsafeBytes { bytes in
            _ = HEIFColor.read(bytes)
            _ = PNGColor.read(bytes)
            _ = ISOBoxes.declaredEnd(bytes)
            _ = HEIFSequence.frames(bytes)
            _ = AVIFSequence(bytes)?.seconds
            _ = PNGChunks.declaredEnd(bytes)
        }
    }
}
