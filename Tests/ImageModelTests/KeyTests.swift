import Foundation
import ImageModel
import Testing

@Suite(.timeLimit(.minutes(5)))
struct KeyTests {
    /// The eight transformers of SDWebImage's pipeline test, in its order.
    private let eight = """
        [{"type":"resize","width":100,"height":100,"scaleMode":"aspectFill"},{"type":"rotate","angle":0.785398},
        {"type":"roundCorner","radius":50,"borderWidth":1,"borderColor":"#ff000000"},
        {"type":"flip","horizontal":true,"vertical":true},{"type":"crop","x":0,"y":0,"width":50,"height":50},
        {"type":"tint","color":"#00000000"},{"type":"blur","radius":5},{"type":"filter","name":"CIColorInvert"}]
        """

    private func key(_ transforms: String) throws -> String {
        try Variant(json: #"{"name":"v","transform":\#(transforms)}"#.utf8).keySuffixes.joined(separator: "|")
    }

    @Test func `every transformer key equals its vector`() throws {
        for row in try Fixtures.rows("keys.json", "transformer_keys") {
            let expected = try #require(row["expected"] as? String)
            if let parameters = row["params"] as? [String: Any] {
                let transform = try json(#require(row["transformer"] as? String), parameters)
                #expect(try key("[\(transform)]") == expected, "\(row)")
            } else if row["params"] is String {
                #expect(try key(eight) == expected)
            } else {
                // An empty list counts as absent, where SDWebImage's empty pipeline has a single hyphen.
                #expect(try key("[]") == "")
            }
        }
    }

    @Test func `every colour's text equals its vector`() throws {
        for row in try Fixtures.rows("keys.json", "color_hex") {
            let parts = try #require(row["color"] as? [NSNumber]).map(\.doubleValue)
            let color = Color(red: parts[0], green: parts[1], blue: parts[2], alpha: parts[3])
            #expect(color?.text == row["expected"] as? String)
        }
    }

    @Test func `colour components out of range are refused`() {
        #expect(Color(red: 1.01, green: 0, blue: 0, alpha: 1) == nil)
        #expect(Color(red: 0, green: -0.01, blue: 0, alpha: 1) == nil)
        #expect(Color(red: 0, green: 0, blue: .nan, alpha: 1) == nil)
    }

    @Test(arguments: [
        ("-0.0", "-0.000000"), ("-0", "-0.000000"), ("0.0000005", "0.000000"), ("0.0000015", "0.000002"),
        ("1e21", "1000000000000000000000.000000"), ("-3.14159265", "-3.141593"), ("0.5e-6", "0.000000"),
    ])
    func `numbers keep six decimals and their sign`(number: String, text: String) throws {
        #expect(
            try key(#"[{"type":"rotate","angle":\#(number),"fitSize":true}]"#)
                == "SDImageRotationTransformer(\(text),1)")
    }

    @Test func `a locale with a comma changes no key`() throws {
        // The locale is process-wide; no other test depends on it. Machines without this locale test only the C locale.
        let name = setlocale(LC_NUMERIC, "de_DE.UTF-8")
        defer { setlocale(LC_NUMERIC, "C") }
        if name == nil { print("no German locale is installed: keys were tested in the C locale only") }
        #expect(try key(#"[{"type":"blur","radius":2.5}]"#) == "SDImageBlurTransformer(2.500000)")
    }

    @Test func `the thumbnail's key precedes the transformers' keys, keySuffix follows them`() throws {
        let variant = try Variant(
            json: """
                {"name":"card","thumbnail":{"width":800,"height":600,"preserveAspectRatio":false},
                "transform":[{"type":"flip","horizontal":true}],"keySuffix":"avif"}
                """.utf8)
        #expect(
            variant.keySuffixes == [
                "Thumbnail({800.000000,600.000000},0)", "SDImageFlippingTransformer(1,0)-avif",
            ])
        #expect(try Variant(json: #"{"name":"v","keySuffix":"webp"}"#.utf8).keySuffixes == ["webp"])
    }

    @Test func `corners and blend modes have Core Graphics' numbers`() throws {
        #expect(
            try key(#"[{"type":"roundCorner","radius":1,"corners":["topLeft","bottomRight"]}]"#)
                == "SDImageRoundCornerTransformer(1.000000,9,0.000000,(null))")
        let names = BlendMode.allCases.map(\.name)
        try #require(names.count == 28)
        #expect(names[18] == "sourceIn")
        #expect(names[25] == "xor")
        #expect(names[27] == "plusLighter")
        #expect(
            try key(##"[{"type":"tint","color":"#FF00ff00","blendMode":"plusDarker"}]"##)
                == "SDImageTintTransformer(#ff00ff00,26)")
        #expect(
            try key(##"[{"type":"tint","color":"#ff00ff00","blendMode":26}]"##)
                == "SDImageTintTransformer(#ff00ff00,26)")
    }

    /// A row's parameters as variant JSON.
    private func json(_ transformer: String, _ parameters: [String: Any]) throws -> String {
        func lower(_ text: Any?) -> String {
            let text = text as? String ?? ""
            return text.prefix(1).lowercased() + text.dropFirst()
        }
        var fields = parameters
        switch transformer {
        case "Resizing":
            fields["type"] = "resize"
            fields["scaleMode"] = lower(parameters["scaleMode"])
        case "Flipping": fields["type"] = "flip"
        case "Blur": fields["type"] = "blur"
        case "Filter": fields["type"] = "filter"
        case "Tint":
            fields["type"] = "tint"
            fields["color"] = parameters["color"] as? String == "clear" ? "#00000000" : "#ffffffff"
            fields["blendMode"] = parameters["blendMode"].map { lower($0) }
        case "RoundCorner":
            fields["type"] = "roundCorner"
            fields["corners"] = (parameters["corners"] as? String)?.split(separator: "|").map(String.init)
            fields["borderColor"] = nil
        default: Issue.record("an unknown transformer: \(transformer)")
        }
        return String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
    }
}
