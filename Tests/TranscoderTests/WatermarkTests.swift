import ImageModel
import TestSupport
import Testing

@testable import Transcoder

@Suite(.timeLimit(.minutes(5)))
struct WatermarkTests {
    private let directory: TemporaryDirectory
    private let harness: TranscodeHarness
    private let photo = SyntheticImage.png(100, 60) { _, _ in [200, 100, 50, 255] }

    init() throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        // 10 × 10: blue, its right half of half opacity.
        let logo = SyntheticImage.png(10, 10) { x, _ in [0, 0, 255, x < 5 ? 255 : 128] }
        try directory.write(logo, to: "logo.png")
        try directory.write("no image".utf8, to: "text.png")
        harness = TranscodeHarness { $0.watermarks = directory.path }
    }

    private func marked(_ fields: String, scale: Double = 1) async throws -> PixelSample {
        try await harness.make(
            photo, #""transform":[{"type":"watermark","file":"logo.png"\#(fields)}],"format":"png""#, scale: scale
        ).sample()
    }

    @Test(arguments: [
        ("", 90, 50), (#","position":"topLeft""#, 0, 0), (#","position":"center""#, 45, 25),
        (#","position":{"x":0.1,"y":1}"#, 9, 50), (#","margin":3"#, 87, 47),
    ])
    func `a watermark lies at its position`(fields: String, left: Int, top: Int) async throws {
        let sample = try await marked(fields)
        #expect(sample.width == 100)
        #expect(sample.height == 60)
        #expect(sample.pixel(left, top) == [0, 0, 255, 255])
        #expect(sample.pixel(left + 4, top + 9) == [0, 0, 255, 255])
        // 200 × 127 / 255 and so on.
        #expect(isClose(sample.pixel(left + 9, top + 5), [100, 50, 153, 255], within: 1))
        for (x, y) in [(left - 1, top), (left, top - 1), (left + 10, top), (left, top + 10)] {
            if (0..<100).contains(x), (0..<60).contains(y) { #expect(sample.pixel(x, y) == [200, 100, 50, 255]) }
        }
    }

    @Test func `opacity and scale follow the variant, and lengths are points`() async throws {
        let faint = try await marked(#","opacity":0.5,"position":"topLeft""#)
        #expect(isClose(faint.pixel(2, 2), [100, 50, 153, 255], within: 1))
        let large = try await marked(#","scale":0.4,"position":"topLeft","margin":5"#, scale: 2)
        #expect(large.pixel(9, 10) == [200, 100, 50, 255])
        #expect(large.pixel(12, 12) == [0, 0, 255, 255])
        #expect(isClose(large.pixel(49, 30), [100, 50, 153, 255], within: 1))
        #expect(large.pixel(50, 30) == [200, 100, 50, 255])
    }

    @Test func `a watermark larger than the image is shrunk to fit`() async throws {
        let sample = try await marked(#","scale":1,"position":"center""#)
        #expect(sample.pixel(22, 0) == [0, 0, 255, 255])
        #expect(sample.pixel(15, 30) == [200, 100, 50, 255])
    }

    @Test func `a watermark without space within its margins fails the variant, with or without a trim`() async throws {
        func mark(_ margin: Int) -> String {
            #""transform":[{"type":"watermark","file":"logo.png","margin":\#(margin)}],"format":"png""#
        }
        let framed = SyntheticImage.png(100, 60) { x, y in
            (40..<60).contains(x) && (20..<40).contains(y) ? [200, 100, 50, 255] : [255, 255, 255, 255]
        }
        let output = try await harness.make(framed, mark(30), mark(29), #""trim":{},\#(mark(10))"#)
        for (number, text) in [(0, "its margin is 30 pixels, the variant has 100×60"), (2, "its margin is 10 pixels")] {
            let error = #expect(throws: TranscodeError.self) { try output.made(number) }
            #expect(error?.code == .transform)
            #expect(error?.message.contains("the watermark 'logo.png' has no space: \(text)") == true, "\(number)")
        }
        // Two pixels are left between the margins.
        #expect(try output.sample(1).pixel(69, 29)[0] < 60)
        #expect(try output.sample(1).pixel(68, 29)[0] == 255)
    }

    @Test(arguments: [("absent.png", "is not in the directory of watermarks"), ("text.png", "is no known image")])
    func `without its watermark a variant fails alone, and blocks nothing`(name: String, text: String) async throws {
        let output = try await harness.make(
            photo, #""transform":[{"type":"watermark","file":"\#(name)"}]"#, #""keySuffix":"x""#)
        guard case .failure(let error) = output.report.variants[0] else {
            Issue.record("made")
            return
        }
        #expect(error.code == .transform)
        #expect(error.message.contains("'\(name)'"))
        #expect(error.message.hasSuffix(text))
        #expect(try output.made(1).width == 100)
    }

    @Test func `without a directory there is no watermark`() async throws {
        let output = try await TranscodeHarness().make(
            photo, #""transform":[{"type":"watermark","file":"logo.png"}]"#)
        guard case .failure(let error) = output.report.variants[0] else {
            Issue.record("made")
            return
        }
        #expect(error.code == .transform)
    }

    @Test func `the key has the file's name and all fields`() throws {
        func key(_ fields: String) throws -> String {
            try Variant(json: #"{"name":"v","transform":[{"type":"watermark","file":"logo.png"\#(fields)}]}"#.utf8)
                .keySuffixes[0]
        }
        #expect(try key("") == "LarderWatermarkTransformer(logo.png,bottomRight,1.000000,(null),0.000000)")
        #expect(
            try key(#","position":"top","opacity":0.5,"scale":0.25,"margin":4"#)
                == "LarderWatermarkTransformer(logo.png,top,0.500000,0.250000,4.000000)")
    }

    @Test(arguments: [
        (#"{"type":"watermark"}"#, "file: is missing"),
        (
            #"{"type":"watermark","file":"../a.png"}"#,
            "file: must be the name of a file: at most 100 letters, digits, dots, hyphens and underscores"
        ),
        (
            #"{"type":"watermark","file":"a","position":"attention"}"#,
            "position: must be a point or the name of one"
        ),
        (#"{"type":"watermark","file":"a","opacity":2}"#, "opacity: must be from 0 to 1"),
    ])
    func `an invalid watermark is refused with its path`(transform: String, expected: String) {
        let error = #expect(throws: VariantError.self) {
            try Variant(json: #"{"name":"v","transform":[\#(transform)]}"#.utf8)
        }
        #expect(error?.description == "$.transform[0].\(expected)")
    }

    @Test func `a pipeline has at most four files`() {
        let marks = (0..<5).map { #"{"type":"watermark","file":"f\#($0).png"}"# }.joined(separator: ",")
        let error = #expect(throws: VariantError.self) {
            try Pipeline(json: #"{"name":"p","variants":[{"name":"v","transform":[\#(marks)]}]}"#.utf8)
        }
        #expect(error?.description == "$.variants: has 5 files of watermarks; the limit is 4")
    }
}
