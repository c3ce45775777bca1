import Testing

@testable import ImageModel
@testable import Transcoder

/// TIFF, SVG, JPEG XL and PDF: read only when the limits list them.
@Suite(.timeLimit(.minutes(5)))
struct OptionalFormatTests {
    private let harness = TranscodeHarness {
        $0.limits.formats.formUnion(ImageFormat.acceptedOnRequest)
        $0.limits.memoryBytes = 512 << 20
    }

    private static let images = ["still.tiff", "still.svg", "still.jxl", "still.pdf"]

    private func svg(_ content: String, size: String = #"width="80" height="60""#, before: String = "") -> [UInt8] {
        let names = #"xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink""#
        return Array("\(before)<svg \(names) \(size)>\(content)</svg>".utf8)
    }

    @Test(arguments: images)
    func `an optional format is read where it is allowed and refused where it is not`(name: String) async throws {
        let image = try Fixtures.image(name)
        #expect(try await TranscodeHarness().refusal(image)?.code == .undecodable)
        let output = try await harness.make(image, #""keySuffix":"x","format":"png""#, #""keySuffix":"y""#)
        let sample = try output.sample()
        #expect(sample.width == 80)
        #expect(sample.height == 60)
        #expect(isClose(sample.pixel(5, 5), [255, 0, 0, 255], within: 12), "\(sample.pixel(5, 5))")
        #expect(isClose(sample.pixel(40, 58), [4, 4, 130, 255], within: 12), "\(sample.pixel(40, 58))")
        // The format is not kept.
        #expect(try output.made(1).format == (output.report.source.hasAlpha ? .png : .jpeg))
        #expect(try output.made(1).replaced == nil)
    }

    @Test(arguments: images)
    func `allowing one format allows no other`(name: String) async throws {
        let others = TranscodeHarness {
            $0.limits.formats = $0.limits.formats.union(ImageFormat.acceptedOnRequest)
                .filter { "still.\($0.name)" != name }
        }
        #expect(try await others.refusal(try Fixtures.image(name))?.code == .undecodable)
    }

    @Test func `BMP is refused even where it is allowed`() async throws {
        let all = TranscodeHarness { $0.limits.formats = Set(ImageFormat.allCases) }
        #expect(try await all.refusal(Array("BM".utf8) + [UInt8](repeating: 0, count: 64))?.code == .undecodable)
    }

    @Test func `the self-test lists the optional formats, and those allowed as readable`() async throws {
        let closed = try await TranscodeHarness().pool.selfTest(), open = try await harness.pool.selfTest()
        #expect(Set(closed.readable) == ImageFormat.acceptedByDefault)
        #expect(Set(closed.optional) == ImageFormat.acceptedOnRequest)
        #expect(Set(open.readable) == ImageFormat.acceptedByDefault.union(ImageFormat.acceptedOnRequest))
        #expect(open.optional.isEmpty)
    }

    @Test func `a TIFF is rotated by its orientation and refused where it is truncated`() async throws {
        let turned = try await harness.make(try Fixtures.image("orientation-6.tiff"), #""keySuffix":"x""#)
        #expect(turned.report.source.orientation == 6)
        #expect(turned.report.source.width == 60)
        #expect(try turned.made().width == 80)
        #expect(try turned.made().height == 60)
        for name in ["still.tiff", "still.jxl"] {
            let image = try Fixtures.image(name)
            let error = try await harness.refusal(Array(image.prefix(image.count / 2)))
            #expect(error?.code == .undecodable, "\(name)")
        }
    }

    @Test func `an SVG reads no local or remote file`() async throws {
        let file = Fixtures.path("Images/rgb.png")
        let image = svg(
            ##"<rect width="40" height="60" fill="#00ff00"/>"##
                + #"<image xlink:href="file://\#(file)" width="80" height="60"/>"#
                + #"<image href="\#(file)" width="80" height="60"/><image href="http://127.0.0.1/a.png" width="9" height="9"/>"#
        )
        let sample = try await harness.make(image, #""keySuffix":"x","format":"png""#).sample()
        #expect(sample.pixel(5, 5) == [0, 255, 0, 255], "nothing is drawn over it")
        #expect(sample.pixel(60, 30) == [0, 0, 0, 0])
        let entity = svg("<text>&x;</text>", before: #"<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/hostname">]>"#)
        #expect(try await harness.refusal(entity)?.code == .undecodable)
    }

    @Test func `an SVG with growing entities or a huge size is refused`() async throws {
        let letters = "abcdefghij".map { "\($0)" }
        var entities = #"<!ENTITY a "aaaaaaaaaa">"#
        for (one, next) in zip(letters, letters.dropFirst()) {
            entities += #"<!ENTITY \#(next) "\#(String(repeating: "&\(one);", count: 10))">"#
        }
        let laughs = svg("<text>&j;</text>", before: "<!DOCTYPE svg [\(entities)]>")
        #expect(try await harness.refusal(laughs)?.code == .undecodable)
        #expect(try await harness.refusal(svg("", size: #"width="20000" height="10""#))?.code == .edge)
        #expect(try await harness.refusal(svg("", size: #"width="9000" height="9000""#))?.code == .pixels)
        #expect(try await harness.refusal(svg("", size: #"viewBox="0 0 900000 9""#))?.code == .edge)
    }

    /// 200 bytes, within every limit, that would take minutes.
    @Test func `an SVG with an endless filter is ended at the hard limit`() async throws {
        let endless =
            #"<filter id="t" x="0" y="0" width="1" height="1"><feTurbulence baseFrequency="0.9" numOctaves="4000000"/>"#
            + ##"</filter><rect width="800" height="800" filter="url(#t)"/>"##
        let short = TranscodeHarness {
            $0.limits.formats.insert(.svg)
            $0.limits.hardTime = .seconds(5)
        }
        #expect(try await short.refusal(svg(endless, size: #"width="800" height="800""#))?.code == .time)
        #expect(short.pool.children.isEmpty)
    }

    @Test func `a PDF's first page is drawn at one pixel per point, and a huge page is refused`() async throws {
        let page = try Fixtures.image("still.pdf")
        let file = try ScratchFile(page)
        let header = try await harness.pool.probe(file.descriptor)
        #expect(header.frames == 1)
        #expect(header.width == 80)
        #expect(header.height == 60)
        let box = Array("[0 0 80 60]".utf8), huge = Array("[0 0 90000 9]".utf8)
        let start = try #require(page.indices.first { page[$0...].starts(with: box) })
        var large = page
        large.replaceSubrange(start..<start + box.count, with: huge)
        #expect(try await harness.refusal(large)?.code == .edge)
    }
}
