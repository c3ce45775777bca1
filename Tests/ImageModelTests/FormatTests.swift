import Testing

@testable import ImageModel

@Suite(.timeLimit(.minutes(5)))
struct FormatTests {
    @Test func `every synthetic row is sniffed as by SDWebImage`() throws {
        for row in try Fixtures.rows("formats.json", "synthetic") {
            let bytes = try hex(#require(row["bytes_hex"] as? String))
            #expect(SDImageFormat.sniff(bytes).rawValue == row["expected"] as? Int, "\(row)")
        }
    }

    @Test func `every file of SDWebImage's tests is sniffed by its first bytes`() throws {
        for row in try Fixtures.rows("formats.json", "files") {
            let bytes = try hex(#require(row["first16"] as? String))
            #expect(SDImageFormat.sniff(prefix: bytes, suffix: []).rawValue == row["expected"] as? Int, "\(row)")
        }
    }

    @Test func `an SVG's end tag counts only within the last 100 bytes`() {
        let prefix = Array("<svg></svg>".utf8)
        #expect(SDImageFormat.sniff(prefix + [UInt8](repeating: 32, count: 94)) == .svg)
        #expect(SDImageFormat.sniff(prefix + [UInt8](repeating: 32, count: 95)) == .undefined)
    }

    @Test func `an empty file has no format`() {
        #expect(SDImageFormat.sniff([]) == .undefined)
        #expect(ImageFormat.recognise([]) == nil)
    }

    @Test(arguments: [
        ("plain.jpg", ImageFormat.jpeg), ("rgb.png", .png), ("animated.png", .png), ("still.gif", .gif),
        ("still.webp", .webp), ("still.avif", .avif), ("still.heic", .heic),
    ])
    func `formats are recognised by their whole signatures`(name: String, format: ImageFormat) throws {
        #expect(ImageFormat.recognise(try Fixtures.image(name)) == format)
    }

    @Test func `AVIF and HEIF are distinguished by the compatible brands`() {
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

    @Test func `recognition is stricter than SDWebImage's for JPEG and BMP`() {
        #expect(ImageFormat.recognise([0xFF]) == nil)
        #expect(ImageFormat.recognise([0xFF, 0x0A]) == .jxl)
        #expect(ImageFormat.recognise(Array("Bad Gateway".utf8)) == nil)
        #expect(ImageFormat.recognise(Array("<!DOCTYPE html><html></html>".utf8)) == nil)
    }

    @Test func `the frames of an animated PNG are counted, also where chunk lengths are false`() throws {
        func frames(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes(PNGChunks.frames) }
        #expect(frames(try Fixtures.image("animated.png")) == 2)
        #expect(frames(try Fixtures.image("rgb.png")) == 1)
        let signature = Array(try Fixtures.image("rgb.png").prefix(8))
        // False lengths, and a truncated chunk.
        #expect(frames(signature + [0xFF, 0xFF, 0xFF, 0xFF] + Array("junk".utf8)) == 1)
        #expect(frames(signature + [0, 0, 0, 8] + Array("acTL".utf8) + [0, 0]) == 1)
        #expect(frames(signature) == 1)
    }

    private func hex(_ text: String) throws -> [UInt8] {
        try stride(from: 0, to: text.count, by: 2).map { offset in
            let start = text.index(text.startIndex, offsetBy: offset)
            return try #require(UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16))
        }
    }
}
