import Testing

@testable import Codecs
@testable import ImageModel
@testable import Transcoder

/// The parsers of WebP containers, XMP and ICC profiles.
@Suite(.timeLimit(.minutes(5)))
struct MetadataParserTests {
    @Test func `metadata is removed from a WebP, which stays valid`() throws {
        let file = try Fixtures.image("gps.webp")
        let clean = try #require(bare(file))
        let sample = try #require(PixelSample(clean))
        #expect(sample.metadata.isEmpty)
        #expect(sample.width == 80)
        #expect(clean.count < file.count)
        // Truncated anywhere, it is refused or consists of whole chunks.
        for length in 0..<file.count { _ = bare(Array(file.prefix(length))) }
        let still = try Fixtures.image("still.webp")
        #expect(bare(still) == still)
    }

    @Test(arguments: [
        (#"<a tiff:Orientation="3" b="1">"#, 3), ("<tiff:Orientation>8</tiff:Orientation>", 8),
        ("<tiff:Orientation>9</tiff:Orientation>", nil), ("tiff:Orientation", nil), ("tiff:Orientation=", nil),
        ("", nil),
        ("tiff:Orientation> <tiff:Orientation>6<", 6),
    ])
    func `the orientation is read from XMP`(text: String, expected: Int?) {
        #expect(XMPOrientation.read(Array(text.utf8)) == expected)
    }

    // SDImageIOAnimatedCoder.m 464–472 of SDWebImage 5.21.5: the orientation is kCGImagePropertyOrientation of Image
    // I/O, which takes it from XMP where EXIF has none.
    @Test(arguments: ["6", "8"])
    func `an image with an orientation in XMP alone is drawn upright`(value: String) async throws {
        let name = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
        let packet =
            #"<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">"#
            + #"<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="\#(value)"/></rdf:RDF></x:xmpmeta>"#
        let segment = name + packet.utf8, image = try Fixtures.image("plain.jpg")
        let length = [UInt8((segment.count + 2) >> 8), UInt8((segment.count + 2) & 255)]
        let turned = image.prefix(2) + [0xFF, 0xE1] + length + segment + image.dropFirst(2)
        let output = try await PictureHarness().make(Array(turned), #""keySuffix":"x""#)
        #expect(output.report.source.orientation == Int(value))
        #expect(try output.made().width == 60)
        #expect(try output.made().height == 80)
    }

    @Test func `only sRGB profiles are recognised as sRGB`() throws {
        let wide = try Fixtures.image("wide.icc")
        #expect(!ICCProfile.isSRGB(wide))
        #expect(ICCProfile.isSRGB(sRGB(like: wide)))
        for length in 0..<wide.count { _ = ICCProfile.isSRGB(Array(sRGB(like: wide).prefix(length))) }
    }

    /// The test profile with sRGB's primaries, its three curves replaced by a parametric one at the end.
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
}
