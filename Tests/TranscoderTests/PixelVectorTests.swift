import Foundation
import ImageModel
import Testing

@testable import Codecs
@testable import Transcoder

/// Every row of the pixel vectors: SDWebImage's assertions, and rows derived from its rules.
@Suite(.timeLimit(.minutes(5)))
struct PixelVectorTests {
    private let harness = PictureHarness()

    private func drawn(_ image: [UInt8], _ transform: String) async throws -> PixelSample {
        try await harness.make(image, #""transform":[\#(transform)],"format":"png""#).sample()
    }

    /// The code of a transformer's failure; nil when it draws.
    private func failure(_ image: [UInt8], _ transform: String) async throws -> TranscodeError.Code? {
        let output = try await harness.make(image, #""transform":[\#(transform)]"#)
        guard case .failure(let error) = output.report.variants[0] else { return nil }
        return error.code
    }

    @Test(.enabled(if: Fixtures.shared != nil, "SDWebImage's images are not present"))
    func `every asserted row holds`() async throws {
        var checked = 0
        for row in try Fixtures.rows("pixels.json", "asserted") {
            let file = try #require(row["image"] as? String)
            guard file == "Tests/Tests/Images/TestImage.png" else { continue }
            let name = try #require(row["transformer"] as? String)
            let parameters = try #require(row["params"] as? [String: Any])
            let image = try Fixtures.bytes(try #require(Fixtures.shared) + "/TestImage.png")
            let sample = try await drawn(image, try json(name, parameters))
            for assertion in try #require(row["asserts"] as? [[String: Any]]) {
                try check(sample, assertion, "\(name) \(parameters)")
                checked += 1
            }
        }
        #expect(checked == 20)
    }

    /// The rows about other images: BMP is not accepted, and 16 bits become 8; white stays white.
    @Test func `the asserted rows about synthetic images hold, with Larder's documented differences`() async throws {
        let bmp = Array("BM".utf8) + [UInt8](repeating: 0, count: 64)
        #expect(try await harness.refusal(bmp)?.code == .undecodable)
        let resize = #"{"type":"resize","width":50,"height":50}"#
        let rows = try Fixtures.rows("pixels.json", "asserted").filter { $0["image"] as? String == "synthetic" }
        #expect(rows.count == 5)
        for image in [SyntheticImage.plain(100, 100, [255, 255, 255, 255]), try Fixtures.image("white16.png")] {
            let sample = try await drawn(image, resize)
            #expect(sample.width == 50)
            #expect(sample.height == 50)
            #expect(sample.pixel(0, 0) == [255, 255, 255, 255])
        }
    }

    private func check(_ sample: PixelSample, _ assertion: [String: Any], _ what: String) throws {
        switch try #require(assertion["type"] as? String) {
        case "size_equals": #expect([sample.width, sample.height] == assertion["size"] as? [Int], "\(what)")
        case "pixel_hex_equals":
            let point = try #require(assertion["point"] as? [Int])
            let text = try #require(assertion["argb_hex"] as? String)
            let expected = try components(text)
            #expect(sample.pixel(point[0], point[1]) == expected, "\(what) at \(point)")
        case "rect_uniform":
            let rect = try #require(assertion["rect"] as? [Int]),
                point = try #require(assertion["equals_point"] as? [Int])
            for y in rect[1]..<rect[1] + rect[3] {
                for x in rect[0]..<rect[0] + rect[2] {
                    #expect(sample.pixel(x, y) == sample.pixel(point[0], point[1]), "\(what) at \(x),\(y)")
                }
            }
        case "pixel_close_to_UIKit_template_tint":
            // The colour with the image's alpha.
            #expect(sample.pixel(150, 20) == [0, 0, 0, 255])
        case let other: Issue.record("an unknown assertion: \(other)")
        }
    }

    /// Red, green, blue and alpha from a colour's text.
    private func components(_ text: String) throws -> [Int] {
        let color = try #require(Color(text))
        return [color.red, color.green, color.blue, color.alpha].map { Int(($0 * 255).rounded()) }
    }

    @Test func `every derived row is known and holds`() async throws {
        for row in try Fixtures.rows("pixels.json", "derived") {
            let name = try #require(row["name"] as? String)
            let known: Bool
            switch name {
            case let name where name.hasPrefix("crop"): known = try await crop(row)
            case "wide border", "border without colour": known = try await border(row)
            case let name where name.hasPrefix("blend "): known = true  // BlendTests has all 28
            case let name where name.hasPrefix("blur "): known = try await blur(row)
            default: known = try await others(name)
            }
            #expect(known, "an unknown row: \(name)")
        }
    }

    private func crop(_ row: [String: Any]) async throws -> Bool {
        let rect = try #require((row["params"] as? [String: Any])?["rect"] as? [Int])
        let (width, height) = (rect[2], rect[3])
        let transform = #"{"type":"crop","x":\#(rect[0]),"y":\#(rect[1]),"width":\#(width),"height":\#(height)}"#
        let image = SyntheticImage.map(100, 100)
        guard let expected = row["expected"] as? [String: Any] else {
            // Refused when it is parsed, or when the image's size is known.
            guard width > 0, height > 0 else {
                #expect(throws: VariantError.self) {
                    try Variant(json: #"{"name":"v","transform":[\#(transform)]}"#.utf8)
                }
                return true
            }
            #expect(try await failure(image, transform) == .transform)
            return true
        }
        let source = try #require(expected["equals_source_rect"] as? [Int])
        let sample = try await drawn(image, transform)
        #expect([sample.width, sample.height] == expected["size"] as? [Int])
        for y in 0..<source[3] {
            for x in 0..<source[2] { #expect(sample.pixel(x, y) == [x + source[0], y + source[1], 0, 255]) }
        }
        return true
    }

    private func border(_ row: [String: Any]) async throws -> Bool {
        let parameters = try #require(row["params"] as? [String: Any])
        let sample = try await drawn(
            SyntheticImage.plain(100, 100, [255, 0, 0, 255]), try json("RoundCorner", parameters))
        for (point, value) in try #require(row["expected"] as? [String: String]) {
            let place = point.dropFirst().dropLast().split(separator: ",").compactMap { Int($0) }
            let pixel = sample.pixel(place[0], place[1])
            switch value {
            case "black, alpha about 0.5": #expect(pixel == [0, 0, 0, 128])
            case "half black over red": #expect(isClose(pixel, [128, 0, 0, 255], within: 1))
            default:
                let expected = try components(value)
                #expect(pixel == expected, "at \(point)")
            }
        }
        return true
    }

    private func blur(_ row: [String: Any]) async throws -> Bool {
        guard let widths = row["expected"] as? [String: Int] else {
            let image = SyntheticImage.map(20, 20)
            let sample = try await drawn(image, #"{"type":"blur","radius":0}"#)
            #expect(sample.pixel(7, 9) == [7, 9, 0, 255])
            return true
        }
        for (text, width) in widths {
            let radius = try #require(Double(text))
            #expect(BoxBlur.width(radius: radius) == width)
        }
        return widths.count == 17
    }

    private func others(_ name: String) async throws -> Bool {
        switch name {
        case "aspect fill rect":
            // GeometryTests has the rectangle; this tests that there is no gap at the edges.
            let sample = try await drawn(
                SyntheticImage.plain(80, 60, [9, 9, 9, 255]),
                #"{"type":"resize","width":100,"height":100,"scaleMode":"aspectFill"}"#)
            #expect([0, 99].allSatisfy { sample.pixel($0, $0) == [9, 9, 9, 255] })
            #expect(sample.width == 100)
        case "non positive size":
            #expect(throws: VariantError.self) {
                try Variant(json: #"{"name":"v","transform":[{"type":"resize","width":0,"height":100}]}"#.utf8)
            }
        case "rotate no fit":
            let sample = try await drawn(
                SyntheticImage.plain(61, 40, [0, 0, 255, 255]), #"{"type":"rotate","angle":1.1}"#)
            #expect(sample.width == 61)
            #expect(sample.height == 40)
            #expect(sample.pixel(0, 0) == [0, 0, 0, 0])
            #expect(sample.pixel(30, 20) == [0, 0, 255, 255])
        case "rotate bbox":
            let sample = try await drawn(
                SyntheticImage.plain(300, 200, [0, 0, 255, 255]),
                #"{"type":"rotate","angle":\#(Double.pi / 6),"fitSize":true}"#)
            #expect(sample.width == 360)
            #expect(sample.height == 324)
        case "flip v":
            let sample = try await drawn(SyntheticImage.map(31, 21), #"{"type":"flip","vertical":true}"#)
            for y in 0..<21 { #expect(sample.pixel(5, y) == [5, 20 - y, 0, 255]) }
        case "tint half red SourceIn over opaque blue":
            let sample = try await drawn(
                SyntheticImage.plain(8, 8, [0, 0, 255, 255]), ##"{"type":"tint","color":"#80ff0000","blendMode":18}"##)
            #expect(sample.pixel(3, 3) == [255, 0, 0, 128])
        default: return false
        }
        return true
    }

    /// A row's parameters as a transformer's JSON.
    private func json(_ transformer: String, _ parameters: [String: Any]) throws -> String {
        var fields: [String: Any] = [:]
        switch transformer {
        case "Resizing":
            let size = try #require(parameters["size"] as? [Int])
            fields = ["type": "resize", "width": size[0], "height": size[1]]
            let mode = try #require(parameters["scaleMode"] as? String)
            fields["scaleMode"] = mode.prefix(1).lowercased() + mode.dropFirst()
        case "Cropping":
            let rect = try #require(parameters["rect"] as? [Int])
            fields = ["type": "crop", "x": rect[0], "y": rect[1], "width": rect[2], "height": rect[3]]
        case "RoundCorner":
            fields = parameters
            fields["type"] = "roundCorner"
            if parameters["borderColor"] is NSNull { fields["borderColor"] = nil }
        case "Rotation":
            #expect(parameters["angle"] as? String == "pi/4")
            fields = ["type": "rotate", "angle": Double.pi / 4, "fitSize": false]
        case "Flipping":
            fields = parameters
            fields["type"] = "flip"
        case "Tint": fields = ["type": "tint", "color": try #require(parameters["color"])]
        default: Issue.record("an unknown transformer: \(transformer)")
        }
        return String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
    }
}
