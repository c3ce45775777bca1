import Foundation
import ImageModel
import TestTranscoder
import Testing

@testable import Transcoder

/// The examples in docs/images.md.
@Suite(.timeLimit(.minutes(5)))
struct PageTests {
    private func page() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/images.md"), encoding: .utf8)
    }

    @Test func `every JSON example is valid, and every transformer has one`() throws {
        var types: Set<String> = []
        for match in try page().matches(of: /(?m)^```json\n((?s).*?)^```/) {
            let text = String(match.1)
            let variant = text.hasPrefix(#"{"name""#) ? text : #"{"name":"v","transform":[\#(text)]}"#
            types.formUnion(try Variant(json: variant.utf8).transforms.map(\.typeName))
        }
        let all: Set = [
            "resize", "crop", "flip", "rotate", "roundCorner", "tint", "blur", "filter", "pad", "sharpen", "watermark",
        ]
        #expect(types == all)
    }

    @Test func `every filter is listed with its parameters, and every blend mode is listed`() throws {
        let text = try page()
        for (name, parameters) in Filter.all {
            let row = try #require(text.split(separator: "\n").first { $0.hasPrefix("| `\(name)`") }, "\(name)")
            for parameter in parameters { #expect(row.contains(parameter.name), "\(name) \(parameter.name)") }
        }
        for mode in BlendMode.allCases { #expect(text.contains(mode.name), "\(mode)") }
    }

    @Test func `variants drawn from larger variants are close to those drawn from the original`() async throws {
        let harness = PictureHarness()
        let photo = SyntheticImage.png(550, 400) { x, y in
            let wave = (x / 37 + y / 23) % 2 == 0 ? 60 : 0
            return [UInt8((x / 5 + wave) % 256), UInt8((y / 4 + wave) % 256), UInt8((x + y) / 8 % 256), 255]
        }
        func box(_ side: Int, _ suffix: String) -> String {
            #""thumbnail":{"width":\#(side),"height":\#(side)},"keySuffix":"\#(suffix)""#
        }
        let chained = try await harness.make(photo, box(512, "a"), box(200, "b"), box(80, "c"))
        let alone = try await harness.make(photo, box(80, "c"))
        let one = try chained.sample(2), other = try alone.sample()
        var sum = 0
        for y in 0..<one.height {
            for x in 0..<one.width {
                sum += zip(one.pixel(x, y), other.pixel(x, y)).prefix(3).reduce(0) { $0 + abs($1.0 - $1.1) }
            }
        }
        let mean = Double(sum) / Double(one.width * one.height * 3)
        #expect(mean < 1, "\(mean)")
    }

    @Test func `a plan names formats, shared bytes and estimates`() async throws {
        let source = try ScratchFile(try Fixtures.image("plain.jpg"))
        let variants = try [
            #"{"name":"a","keySuffix":"a","format":"avif"}"#, #"{"name":"b","keySuffix":"b","format":"avif"}"#,
        ]
        .map { try Variant(json: $0.utf8) }
        let plan = try await PictureHarness().transcoder.plan(source.descriptor, variants: variants)
        #expect(plan.variants[0].format == .avif)
        #expect(plan.variants[1].sameBytesAs == "a")
        #expect(plan.path == "planes")
        #expect(plan.lines.count == 4)
        #expect(plan.memoryBytes > 0)
        #expect(plan.milliseconds > 0)
    }
}
