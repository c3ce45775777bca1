import ImageModel
import Testing

@testable import Codecs
@testable import Transcoder

/// Larder's own transformers: gravity, enlarging, pad and sharpen.
@Suite(.timeLimit(.minutes(5)))
struct PlacementTests {
    private let harness = PictureHarness()

    /// 60 × 20: three squares, red, green and blue.
    private let flag = SyntheticImage.png(60, 20) { x, _ in
        x < 20 ? [255, 0, 0, 255] : x < 40 ? [0, 255, 0, 255] : [0, 0, 255, 255]
    }

    private func pixels(_ image: [UInt8], _ transform: String) async throws -> PixelSample {
        try await harness.make(image, #""transform":[\#(transform)],"format":"png""#).sample()
    }

    @Test(arguments: [
        ("\"left\"", [255, 0, 0]), ("\"right\"", [0, 0, 255]), ("\"top\"", [0, 255, 0]), ("\"center\"", [0, 255, 0]),
        (#"{"x":0.1,"y":0.9}"#, [255, 0, 0]), (#"{"x":0.84,"y":0}"#, [0, 0, 255]),
    ])
    func `aspectFill keeps the part with the gravity's point`(gravity: String, color: [Int]) async throws {
        let sample = try await pixels(
            flag, #"{"type":"resize","width":10,"height":10,"scaleMode":"aspectFill","gravity":\#(gravity)}"#)
        #expect(sample.width == 10)
        #expect(sample.height == 10)
        #expect(isClose(sample.pixel(5, 5), color + [255], within: 3))
    }

    @Test func `a point stands in the middle where the image covers the canvas`() async throws {
        let stripe = SyntheticImage.png(100, 20) { x, _ in x == 30 ? [255, 255, 255, 255] : [0, 0, 0, 255] }
        let sample = try await pixels(
            stripe,
            #"{"type":"resize","width":21,"height":20,"scaleMode":"aspectFill","gravity":{"x":0.305,"y":0.5}}"#)
        #expect((0..<21).map { sample.pixel($0, 9)[0] > 128 }.firstIndex(of: true) == 10)
    }

    @Test func `gravity decides about a strip that is cut before it is enlarged`() async throws {
        let strip = SyntheticImage.png(600, 4) { x, _ in x < 300 ? [255, 0, 0, 255] : [0, 0, 255, 255] }
        for (gravity, color) in [("left", [255, 0, 0, 255]), ("right", [0, 0, 255, 255])] {
            let sample = try await pixels(
                strip, #"{"type":"resize","width":80,"height":80,"scaleMode":"aspectFill","gravity":"\#(gravity)"}"#)
            #expect(sample.width == 80)
            #expect(isClose(sample.pixel(40, 40), color, within: 3))
        }
    }

    @Test(arguments: ["attention", "entropy"])
    func `a smart crop keeps the part with something in it`(interest: String) async throws {
        let image = SyntheticImage.png(300, 100) { x, y in
            x < 220 ? [90, 90, 90, 255] : [UInt8((x * 37 + y * 91) % 256), UInt8((x ^ y) * 5 % 256), 30, 255]
        }
        let sample = try await pixels(
            image, #"{"type":"resize","width":50,"height":50,"scaleMode":"aspectFill","gravity":"\#(interest)"}"#)
        #expect(sample.width == 50)
        #expect(sample.height == 50)
        let detail = (0..<50).filter { !isClose(sample.pixel($0, 25), [90, 90, 90, 255], within: 12) }.count
        // In the middle there is none; a part as wide as the canvas shows at most 40 columns of it.
        #expect(detail > 25, "\(detail)")
    }

    @Test(arguments: [("fill", 60, 20), ("aspectFill", 60, 20), ("aspectFit", 80, 40)])
    func `without enlarge an image keeps its pixels`(mode: String, width: Int, height: Int) async throws {
        let sample = try await pixels(
            flag, #"{"type":"resize","width":80,"height":40,"scaleMode":"\#(mode)","enlarge":false}"#)
        #expect(sample.width == width)
        #expect(sample.height == height)
        let left = (width - 60) / 2, top = (height - 20) / 2
        #expect(sample.pixel(left, top) == [255, 0, 0, 255])
        #expect(sample.pixel(left + 59, top + 19) == [0, 0, 255, 255])
        if mode == "aspectFit" {
            #expect(sample.pixel(left - 1, top)[3] == 0)
            #expect(sample.pixel(40, top - 1)[3] == 0)
        }
    }

    @Test func `without enlarge one side may still shrink`() async throws {
        let fill = try await pixels(
            flag, #"{"type":"resize","width":30,"height":40,"enlarge":false}"#)
        #expect(fill.width == 30)
        #expect(fill.height == 20)
        let cut = try await pixels(
            flag, #"{"type":"resize","width":20,"height":40,"scaleMode":"aspectFill","enlarge":false}"#)
        #expect(cut.width == 20)
        #expect(cut.height == 20)
        #expect(cut.pixel(10, 10) == [0, 255, 0, 255])
    }

    @Test func `pad adds margins of a colour, in points`() async throws {
        let pad = ##"{"type":"pad","top":1,"left":2,"bottom":3,"right":4,"color":"#ff102030"}"##
        let opaque = SyntheticImage.png(60, 20) { _, _ in [200, 100, 50, 255] }
        let output = try await harness.make(opaque, #""transform":[\#(pad)],"format":"png""#, scale: 2)
        let sample = try output.sample()
        #expect(sample.width == 72)
        #expect(sample.height == 28)
        #expect(sample.pixel(4, 2) == [200, 100, 50, 255])
        #expect(sample.pixel(63, 21) == [200, 100, 50, 255])
        for (x, y) in [(3, 2), (4, 1), (64, 21), (63, 22), (71, 27)] {
            #expect(sample.pixel(x, y) == [16, 32, 48, 255])
        }
    }

    @Test func `pad is transparent without a colour, and half transparent with one`() async throws {
        let clear = try await pixels(flag, #"{"type":"pad","bottom":5}"#)
        #expect(clear.height == 25)
        #expect(clear.pixel(3, 22)[3] == 0)
        #expect(clear.pixel(3, 19) == [255, 0, 0, 255])
        let half = try await pixels(flag, ##"{"type":"pad","left":5,"color":"#80ffffff"}"##)
        #expect(half.width == 65)
        #expect(half.pixel(2, 10) == [255, 255, 255, 128])
        #expect(half.pixel(5, 10) == [255, 0, 0, 255])
    }

    @Test func `padding beyond the limit on edges is refused`() async throws {
        let report = try await harness.make(flag, #""transform":[{"type":"pad","left":9000}]"#).report
        guard case .failure(let error) = report.variants[0] else {
            Issue.record("made")
            return
        }
        #expect(error.code == .edge)
    }

    @Test func `sharpen raises the contrast at an edge and leaves flat areas and alpha as they are`() async throws {
        let edge = SyntheticImage.png(40, 20) { x, y in
            let value = UInt8(x < 18 ? 80 : x > 21 ? 160 : 80 + (x - 17) * 16)
            return [value, value, value, y < 10 ? 255 : 128]
        }
        let plain = try #require(PixelSample(edge))
        let sharp = try await pixels(edge, #"{"type":"sharpen","sigma":1,"amount":5}"#)
        #expect(isClose(sharp.pixel(5, 5), plain.pixel(5, 5), within: 1))
        #expect(isClose(sharp.pixel(35, 15), plain.pixel(35, 15), within: 1))
        let contrast = { (sample: PixelSample) in
            (0..<40).map { Int(sample.pixel($0, 5)[0]) }.max()! - (0..<40).map { Int(sample.pixel($0, 5)[0]) }.min()!
        }
        #expect(contrast(sharp) > contrast(plain) + 4, "\(contrast(sharp))")
        #expect((0..<40).allSatisfy { sharp.pixel($0, 15)[3] == 128 && sharp.pixel($0, 5)[3] == 255 })
    }

    @Test func `sharpen does not lighten the outline of a cut-out image`() async throws {
        let sharpen = #"{"type":"sharpen","sigma":2,"amount":5}"#
        // Two greys, with a smooth edge to transparency at the right.
        let image = SyntheticImage.png(40, 20) { x, y in
            if x < 6 || x > 33 || y < 4 || y > 15 { return [0, 0, 0, 0] }
            let value: UInt8 = x < 20 ? 90 : 140
            return [value, value, value, x == 33 ? 64 : x == 32 ? 160 : 255]
        }
        let sharp = try await pixels(image, sharpen)
        for y in 4...15 {
            for x in (6...12).map(\.self) + (27...33) {
                let value = x < 20 ? 90 : 140
                let pixel = sharp.pixel(x, y)
                #expect(isClose(Array(pixel.prefix(3)), [value, value, value], within: 1), "\(x),\(y): \(pixel)")
            }
        }
        #expect(sharp.pixel(19, 10)[0] < 86)
        #expect(sharp.pixel(20, 10)[0] > 144)
        #expect(sharp.pixel(5, 10) == [0, 0, 0, 0])
        #expect(sharp.pixel(33, 10)[3] == 64)
        #expect(sharp.pixel(32, 10)[3] == 160)
        let padded = try await pixels(
            SyntheticImage.plain(20, 20, [120, 120, 120, 255]), #"{"type":"pad","left":8,"top":8},\#(sharpen)"#)
        #expect(padded.pixel(8, 8) == [120, 120, 120, 255])
        #expect(padded.pixel(8, 20) == [120, 120, 120, 255])
    }

    @Test func `an opaque image is sharpened alike with an alpha channel and without one`() async throws {
        func value(_ x: Int, _ y: Int) -> [UInt8] { [UInt8(x * 5), UInt8((x * y) % 251), UInt8(x < 24 ? 40 : 220)] }
        var rows: [UInt8] = []
        for y in 0..<32 { rows += [0] + (0..<48).flatMap { value($0, y) } }
        let opaque = SyntheticImage.png(
            SyntheticImage.big(48) + SyntheticImage.big(32) + [8, 2, 0, 0, 0], rows)
        let sharpen = #"{"type":"sharpen","sigma":1.5,"amount":4}"#
        let plain = try await pixels(opaque, sharpen)
        let alpha = try await pixels(SyntheticImage.png(48, 32) { value($0, $1) + [255] }, sharpen)
        #expect(!plain.hasAlpha)
        #expect(alpha.hasAlpha)
        #expect(plain.maxDifference(from: alpha) == 0)
        // A hole at the right changes nothing at the left.
        let holed = try await pixels(
            SyntheticImage.png(48, 32) { $0 < 40 ? value($0, $1) + [255] : [0, 0, 0, 0] }, sharpen)
        for y in 0..<32 { for x in 0..<36 { #expect(holed.pixel(x, y) == plain.pixel(x, y)) } }
    }

    @Test func `keys and plans name Larder's transformers`() throws {
        func key(_ transform: String) throws -> String {
            try Variant(json: #"{"name":"v","transform":[\#(transform)]}"#.utf8).keySuffixes[0]
        }
        let resize = #"{"type":"resize","width":200,"height":100,"scaleMode":"aspectFill""#
        #expect(
            try key(resize + #","gravity":"topLeft","enlarge":false}"#)
                == "LarderResizingTransformer({200.000000,100.000000},2,enlarge=0,gravity=topLeft)")
        #expect(
            try key(resize + #","gravity":{"x":0.25,"y":1}}"#)
                == "LarderResizingTransformer({200.000000,100.000000},2,gravity={0.250000,1.000000})")
        #expect(
            try key(resize + #","gravity":"center","enlarge":true}"#)
                == "SDImageResizingTransformer({200.000000,100.000000},2)")
        #expect(
            try key(##"{"type":"pad","top":1,"color":"#FF000000"}"##)
                == "LarderPadTransformer({1.000000,0.000000,0.000000,0.000000},#ff000000)")
        #expect(try key(#"{"type":"sharpen"}"#) == "LarderSharpenTransformer(0.500000,3.000000)")
        let header = SourceHeader(format: .jpeg, width: 400, height: 400)
        let variant = try Variant(
            json: (#"{"name":"v","transform":["# + resize + #","gravity":"attention"},{"type":"sharpen"}]}"#).utf8)
        let plan = DecodePlan(
            header, variants: [variant], scale: 1, limits: TranscodeLimits(), writable: [.jpeg, .png])
        let output = try plan.outputs[0].get()
        #expect(
            output.steps.map(\.text) == [
                "scale to 200×200", "crop 200×100 by attention", "sharpen by 3.0 within 0.5",
            ])
        #expect(plan.base == PixelSize(width: 200, height: 200))
        #expect(!output.drawing.hasAlpha)
    }
}
