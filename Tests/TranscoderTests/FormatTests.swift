@testable import ImageModel
import Testing
@testable import Transcoder

@Suite(.timeLimit(.minutes(5)))
struct FormatTests {
    @Test func `sniffs every synthetic row as SDWebImage does`() throws {
        for row in try Fixtures.rows("formats.json", "synthetic") {
            let bytes = try hex(#require(row["bytes_hex"] as? String))
            #expect(SDImageFormat.sniff(bytes).rawValue == row["expected"] as? Int, "\(row)")
        }
    }

    @Test func `sniffs every file of SDWebImage's tests by its first bytes`() throws {
        for row in try Fixtures.rows("formats.json", "files") {
            let bytes = try hex(#require(row["first16"] as? String))
            #expect(SDImageFormat.sniff(prefix: bytes, suffix: []).rawValue == row["expected"] as? Int, "\(row)")
        }
    }

    @Test func `an SVG's end tag counts only inside the last 100 bytes`() {
        let prefix = Array("<svg></svg>".utf8)
        #expect(SDImageFormat.sniff(prefix + [UInt8](repeating: 32, count: 94)) == .svg)
        #expect(SDImageFormat.sniff(prefix + [UInt8](repeating: 32, count: 95)) == .undefined)
    }

    @Test func `no bytes are no format`() {
        #expect(SDImageFormat.sniff([]) == .undefined)
        #expect(ImageFormat.recognise([]) == nil)
    }

    @Test(arguments: [
        ("plain.jpg", ImageFormat.jpeg), ("rgb.png", .png), ("animated.png", .png), ("still.gif", .gif),
        ("still.webp", .webp), ("still.avif", .avif), ("still.heic", .heic),
    ])
    func `recognises the formats by their whole signatures`(name: String, format: ImageFormat) throws {
        #expect(ImageFormat.recognise(try Fixtures.picture(name)) == format)
    }

    @Test func `tells AVIF from HEIF by the compatible brands`() {
        func box(_ brands: String...) -> [UInt8] {
            [0, 0, 0, UInt8(12 + 4 * brands.count)] + Array(("ftyp" + brands[0]).utf8) + [0, 0, 0, 0]
                + brands.dropFirst().flatMap { Array($0.utf8) } + Array("mif1avif".utf8)
        }
        #expect(ImageFormat.recognise(box("mif1", "miaf", "avif")) == .avif)
        #expect(ImageFormat.recognise(box("mif1", "heic")) == .heif)
        #expect(ImageFormat.recognise(box("avis")) == .avif)
        #expect(ImageFormat.recognise(box("heim")) == .heic)
        #expect(ImageFormat.recognise(box("mp42")) == nil)
    }

    @Test func `is stricter than SDWebImage about JPEG and BMP`() {
        #expect(ImageFormat.recognise([0xFF]) == nil)
        #expect(ImageFormat.recognise([0xFF, 0x0A]) == .jxl)
        #expect(ImageFormat.recognise(Array("Bad Gateway".utf8)) == nil)
        #expect(ImageFormat.recognise(Array("<!DOCTYPE html><html></html>".utf8)) == nil)
    }

    @Test func `counts the frames of an animated PNG, whatever its chunks claim`() throws {
        func frames(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes(AnimatedPNG.frames) }
        #expect(frames(try Fixtures.picture("animated.png")) == 2)
        #expect(frames(try Fixtures.picture("rgb.png")) == 1)
        let signature = Array(try Fixtures.picture("rgb.png").prefix(8))
        // Lengths that lie, and a chunk cut short.
        #expect(frames(signature + [0xFF, 0xFF, 0xFF, 0xFF] + Array("junk".utf8)) == 1)
        #expect(frames(signature + [0, 0, 0, 8] + Array("acTL".utf8) + [0, 0]) == 1)
        #expect(frames(signature) == 1)
    }

    @Test func `takes the metadata out of a WebP and leaves a WebP`() throws {
        let file = try Fixtures.picture("gps.webp")
        let clean = try #require(bare(file))
        let sample = try #require(PixelSample(clean))
        #expect(sample.metadata.isEmpty && sample.width == 80 && clean.count < file.count)
        // Cut short anywhere, it is refused or left as whole chunks.
        for length in 0..<file.count { _ = bare(Array(file.prefix(length))) }
        let still = try Fixtures.picture("still.webp")
        #expect(bare(still) == still)
    }

    @Test(arguments: [
        (#"<a tiff:Orientation="3" b="1">"#, 3), ("<tiff:Orientation>8</tiff:Orientation>", 8),
        ("<tiff:Orientation>9</tiff:Orientation>", nil), ("tiff:Orientation", nil), ("tiff:Orientation=", nil),
        ("", nil),
        ("tiff:Orientation> <tiff:Orientation>6<", 6),
    ])
    func `finds an orientation in XMP`(text: String, expected: Int?) {
        #expect(XMPOrientation.read(Array(text.utf8)) == expected)
    }

    @Test func `takes only real sRGB profiles for sRGB`() throws {
        let wide = try Fixtures.picture("wide.icc")
        #expect(!ICCProfile.isSRGB(wide))
        #expect(ICCProfile.isSRGB(sRGB(like: wide)))
        for length in 0..<wide.count { _ = ICCProfile.isSRGB(Array(sRGB(like: wide).prefix(length))) }
    }

    /// The carried profile with sRGB's primaries, and its three curves replaced by a parametric one at the end.
    private func sRGB(like profile: [UInt8]) -> [UInt8] {
        func number(_ value: Double) -> [UInt8] {
            withUnsafeBytes(of: Int32((value * 65536).rounded()).bigEndian) { Array($0) }
        }
        var result = profile
        let curve =
            Array("para".utf8) + [0, 0, 0, 0, 0, 3, 0, 0]
            + [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045].flatMap(number)
        let values: [String: [Double]] = [
            "rXYZ": [0.4361, 0.2225, 0.0139], "gXYZ": [0.3851, 0.7169, 0.0971], "bXYZ": [0.1431, 0.0606, 0.7141],
        ]
        for entry in 0..<9 {
            let start = 132 + 12 * entry
            let name = String(decoding: result[start..<start + 4], as: UTF8.self)
            let offset = result[start + 4..<start + 8].reduce(0) { $0 << 8 | Int($1) }
            if let xyz = values[name] {
                result.replaceSubrange(offset + 8..<offset + 20, with: xyz.flatMap(number))
            } else if name.hasSuffix("TRC") {
                let end = withUnsafeBytes(of: UInt32(profile.count).bigEndian) { Array($0) }
                result.replaceSubrange(start + 4..<start + 8, with: end)
            }
        }
        return result + curve
    }

    private func bare(_ file: [UInt8]) -> [UInt8]? { file.withUnsafeBytes { WebPContainer.withoutMetadata($0) } }

    private func hex(_ text: String) throws -> [UInt8] {
        try stride(from: 0, to: text.count, by: 2).map { offset in
            let start = text.index(text.startIndex, offsetBy: offset)
            return try #require(UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16))
        }
    }
}
