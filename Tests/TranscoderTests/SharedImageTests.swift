import Foundation
import ImageModel
import Testing

@testable import Transcoder

/// SDWebImage's test images and the assertions of its tests; they run where those images are present.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
struct SharedImageTests {
    private let harness = PictureHarness()

    private func image(_ name: String) throws -> [UInt8] {
        try Fixtures.bytes(try #require(Fixtures.shared) + "/" + name)
    }

    private let black = [0, 0, 0, 255]

    @Test func `a resize gives the vector's size and pixels`() async throws {
        let output = try await harness.make(
            try image("TestImage.png"), #""transform":[{"type":"resize","width":200,"height":100}]"#,
            #""transform":[{"type":"resize","width":2000,"height":1000,"scaleMode":"aspectFit"}]"#)
        #expect(try output.made(0).width == 200)
        #expect(try output.made(0).height == 100)
        #expect(try output.made(1).width == 2000)
        #expect(try output.made(1).height == 1000)
        #expect(try output.sample(1).pixel(1000, 50) == black)
    }

    @Test func `a crop gives the vector's size and pixels`() async throws {
        let output = try await harness.make(
            try image("TestImage.png"), #""transform":[{"type":"crop","x":50,"y":10,"width":200,"height":200}]"#)
        let sample = try output.sample()
        #expect(sample.width == 200)
        #expect(sample.height == 200)
        #expect(sample.pixel(0, 0) == [0, 0, 0, 0])
        #expect(sample.pixel(100, 10) == black)
    }

    @Test func `a variant without steps keeps every pixel`() async throws {
        let output = try await harness.make(try image("TestImage.png"), #""keySuffix":"x""#)
        let sample = try output.sample()
        #expect(sample.pixel(80, 150) == [151, 36, 31, 255])
        #expect(sample.pixel(150, 150) == [0, 0, 0, 0])
        #expect(sample.pixel(150, 20) == black)
    }

    @Test func `an indexed PNG with alpha keeps its colours`() async throws {
        let output = try await harness.make(try image("IndexedPNG.png"), #""keySuffix":"x""#)
        #expect(isClose(try output.sample().pixel(100, 1), [153, 232, 232, 51], within: 3))
    }

    @Test func `thumbnails have the sizes of SDWebImage's tests`() async throws {
        let large = try await harness.make(
            try image("TestImageLarge.jpg"), #""thumbnail":{"width":400,"height":300}"#,
            #""thumbnail":{"width":4000,"height":4000}"#)
        #expect(try large.made(0).width == 400)
        #expect(try large.made(0).height == 263)
        #expect(try large.made(1).width == 4000)
        #expect(try large.made(1).height == 2629)
        let box = #""thumbnail":{"width":50,"height":50,"preserveAspectRatio":"#
        for name in ["TestImage.heic", "TestImage.heif", "TestImageAnimated.heics", "TestImageStatic.webp"] {
            let output = try await harness.make(try image(name), "\(box)true}", "\(box)false}")
            let kept = try output.made(0), source = output.report.source
            let ratio = Double(min(source.width, source.height)) / Double(max(source.width, source.height))
            #expect(max(kept.width, kept.height) == 50, "\(name)")
            #expect(abs(Double(min(kept.width, kept.height)) - 50 * ratio) <= 1, "\(name)")
            #expect(try output.made(1).width == 50, "\(name)")
            #expect(try output.made(1).height == 50, "\(name)")
        }
    }

    @Test func `the rotated JFIF has orientation 3`() async throws {
        let output = try await harness.make(
            try image("TestJFIF.jpg"), #""thumbnail":{"width":100,"height":100},"format":"png""#)
        #expect(output.report.source.orientation == 3)
    }

    @Test func `the SVG, the PDF and the JPEG XL are read where they are allowed`() async throws {
        let open = PictureHarness { $0.formats.formUnion(ImageFormat.acceptedOnRequest) }
        for (name, size) in [("TestImage.svg", (131, 76)), ("TestImage.pdf", (36, 36))] {
            let output = try await open.make(try image(name), #""keySuffix":"x""#)
            #expect(try output.made().width == size.0, "\(name)")
            #expect(try output.made().height == size.1, "\(name)")
            #expect(try output.made().format == .png, "\(name)")
        }
        let output = try await open.make(try image("TestHDR.jxl"), #""thumbnail":{"width":50,"height":50}"#)
        #expect(try max(output.made().width, output.made().height) == 50)
    }

    @Test func `every image of a default format gives its variants, every other one a typed error`() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: try #require(Fixtures.shared)).sorted()
        #expect(names.count >= 20)
        for name in names {
            let file = try image(name)
            let format = ImageFormat.recognise(file)
            do {
                let output = try await harness.make(
                    file, #""thumbnail":{"width":320,"height":320}"#,
                    #""transform":[{"type":"resize","width":64,"height":64,"scaleMode":"aspectFill"}],"format":"webp""#,
                    #""transform":[{"type":"resize","width":64,"height":48,"scaleMode":"aspectFit"}]"#)
                for variant in output.report.variants { _ = try variant.get() }
                #expect(format.map(ImageFormat.acceptedByDefault.contains) == true, "\(name)")
                // A copy is the file itself, which may need its repair.
                for (index, bytes) in output.files.enumerated() where try !output.made(index).copied {
                    #expect(PixelSample(bytes) != nil, "\(name) \(index)")
                }
            } catch let error as TranscodeError {
                #expect(error.code == .undecodable, "\(name): \(error)")
                #expect(format.map(ImageFormat.acceptedByDefault.contains) != true, "\(name): \(error)")
            }
        }
    }
}
