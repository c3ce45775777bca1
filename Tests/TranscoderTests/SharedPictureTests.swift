import ImageModel
import Foundation
import Testing
@testable import Transcoder

/// SDWebImage's own test pictures and what its tests say of them; they run where those pictures are.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Fixtures.shared != nil, "SDWebImage's own pictures are not here"))
struct SharedPictureTests {
    private let kitchen = TranscodeHarness { $0.count = 2 }

    private func picture(_ name: String) throws -> [UInt8] {
        try Fixtures.bytes(try #require(Fixtures.shared) + "/" + name)
    }

    /// Red, green, blue, alpha from a row's alpha, red, green, blue.
    private let black = [0, 0, 0, 255]

    @Test func `resizes as the vectors have it`() async throws {
        let dish = try await kitchen.make(
            try picture("TestImage.png"), #""transform":[{"type":"resize","width":200,"height":100}]"#,
            #""transform":[{"type":"resize","width":2000,"height":1000,"scaleMode":"aspectFit"}]"#)
        #expect(try dish.made(0).width == 200 && dish.made(0).height == 100)
        #expect(try dish.made(1).width == 2000 && dish.made(1).height == 1000)
        #expect(try dish.sample(1).pixel(1000, 50) == black)
    }

    @Test func `crops as the vectors have it`() async throws {
        let dish = try await kitchen.make(
            try picture("TestImage.png"), #""transform":[{"type":"crop","x":50,"y":10,"width":200,"height":200}]"#)
        let sample = try dish.sample()
        #expect(sample.width == 200 && sample.height == 200)
        #expect(sample.pixel(0, 0) == [0, 0, 0, 0])
        #expect(sample.pixel(100, 10) == black)
    }

    @Test func `leaves every pixel alone where nothing is asked`() async throws {
        let dish = try await kitchen.make(try picture("TestImage.png"), #""keySuffix":"x""#)
        let sample = try dish.sample()
        #expect(sample.pixel(80, 150) == [151, 36, 31, 255])
        #expect(sample.pixel(150, 150) == [0, 0, 0, 0])
        #expect(sample.pixel(150, 20) == black)
    }

    @Test func `indexed PNG with alpha has its colours`() async throws {
        let dish = try await kitchen.make(try picture("IndexedPNG.png"), #""keySuffix":"x""#)
        #expect(isClose(try dish.sample().pixel(100, 1), [153, 232, 232, 51], within: 3))
    }

    @Test func `thumbnails have the sizes of SDWebImage's own tests`() async throws {
        let large = try await kitchen.make(
            try picture("TestImageLarge.jpg"), #""thumbnail":{"width":400,"height":300}"#,
            #""thumbnail":{"width":4000,"height":4000}"#)
        #expect(try large.made(0).width == 400 && large.made(0).height == 263)
        #expect(try large.made(1).width == 4000 && large.made(1).height == 2629)
        let box = #""thumbnail":{"width":50,"height":50,"preserveAspectRatio":"#
        for name in ["TestImage.heic", "TestImage.heif", "TestImageAnimated.heics", "TestImageStatic.webp"] {
            let dish = try await kitchen.make(try picture(name), "\(box)true}", "\(box)false}")
            let kept = try dish.made(0), source = dish.report.source
            let ratio = Double(min(source.width, source.height)) / Double(max(source.width, source.height))
            #expect(max(kept.width, kept.height) == 50, "\(name)")
            #expect(abs(Double(min(kept.width, kept.height)) - 50 * ratio) <= 1, "\(name)")
            #expect(try dish.made(1).width == 50 && dish.made(1).height == 50, "\(name)")
        }
    }

    @Test func `the rotated JFIF is turned once`() async throws {
        let dish = try await kitchen.make(
            try picture("TestJFIF.jpg"), #""thumbnail":{"width":100,"height":100},"format":"png""#)
        #expect(dish.report.source.orientation == 3)
    }

    @Test func `the SVG, the PDF and the JPEG XL are pictures where they are let in`() async throws {
        let open = TranscodeHarness { $0.limits.formats.formUnion(ImageFormat.acceptedOnRequest) }
        for (name, size) in [("TestImage.svg", (131, 76)), ("TestImage.pdf", (36, 36))] {
            let dish = try await open.make(try picture(name), #""keySuffix":"x""#)
            #expect(try dish.made().width == size.0 && dish.made().height == size.1, "\(name)")
            #expect(try dish.made().format == .png, "\(name)")
        }
        let dish = try await open.make(try picture("TestHDR.jxl"), #""thumbnail":{"width":50,"height":50}"#)
        #expect(try max(dish.made().width, dish.made().height) == 50)
    }

    @Test func `every picture of a default format gives its variants, every other one a typed error`() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: try #require(Fixtures.shared)).sorted()
        #expect(names.count >= 20)
        for name in names {
            let file = try picture(name)
            let format = ImageFormat.recognise(file)
            do {
                let dish = try await kitchen.make(
                    file, #""thumbnail":{"width":320,"height":320}"#,
                    #""transform":[{"type":"resize","width":64,"height":64,"scaleMode":"aspectFill"}],"format":"webp""#,
                    #""transform":[{"type":"resize","width":64,"height":48,"scaleMode":"aspectFit"}]"#)
                for variant in dish.report.variants { _ = try variant.get() }
                #expect(format.map(ImageFormat.acceptedByDefault.contains) == true, "\(name)")
                for (index, bytes) in dish.files.enumerated() { #expect(PixelSample(bytes) != nil, "\(name) \(index)") }
            } catch let error as TranscodeError {
                #expect(error.code == .undecodable, "\(name): \(error)")
                #expect(format.map(ImageFormat.acceptedByDefault.contains) != true, "\(name): \(error)")
            }
        }
    }
}
