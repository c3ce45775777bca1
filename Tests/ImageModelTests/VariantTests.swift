import ImageModel
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VariantTests {
    private func refusal(_ variants: String) -> String {
        do {
            _ = try Pipeline(json: #"{"name":"p","variants":\#(variants)}"#.utf8)
            return "accepted"
        } catch {
            return error.description
        }
    }

    private func transformRefusal(_ transform: String) -> String {
        refusal(#"[{"name":"a","transform":[\#(transform)]}]"#)
    }

    @Test(arguments: [
        (#"{"type":"resize","width":0,"height":1}"#, "width: must be greater than 0"),
        (#"{"type":"resize","width":1,"height":-1}"#, "height: must be greater than 0"),
        (#"{"type":"resize","width":1}"#, "height: is missing"),
        (#"{"type":"resize","width":"1","height":1}"#, "width: must be a number"),
        (#"{"type":"resize","width":true,"height":1}"#, "width: must be a number"),
        (#"{"type":"resize","width":null,"height":1}"#, "width: must be a number"),
        (
            #"{"type":"resize","width":1,"height":1,"scaleMode":"Fill"}"#,
            "scaleMode: must be fill, aspectFit or aspectFill"
        ),
        (#"{"type":"resize","width":1,"height":1,"mode":"fill"}"#, "mode: is not a known field"),
        (#"{"type":"resize","width":1,"hight":1}"#, #"hight: is not a known field; did you mean "height"?"#),
        (
            #"{"type":"resize","width":1,"height":1,"scalemode":"fill"}"#,
            #"scalemode: is not a known field; did you mean "scaleMode"?"#
        ),
        (#"{"type":"crop","x":0,"y":0,"width":0,"height":5}"#, "width: must be greater than 0"),
        (#"{"type":"crop","y":0,"width":1,"height":5}"#, "x: is missing"),
        (#"{"type":"flip","horizontal":1}"#, "horizontal: must be true or false"),
        (
            #"{"type":"roundCorner","radius":1,"corners":["left"]}"#,
            "corners[0]: must be topLeft, topRight, bottomLeft or bottomRight"
        ),
        (#"{"type":"roundCorner","radius":1,"corners":"none"}"#, "corners: must be \"all\" or a list of corners"),
        (#"{"type":"tint","color":"red"}"#, "color: must be # and eight hexadecimal digits, alpha red green blue"),
        (
            ##"{"type":"tint","color":"#ff0000"}"##,
            "color: must be # and eight hexadecimal digits, alpha red green blue"
        ),
        (
            ##"{"type":"tint","color":"#gg000000"}"##,
            "color: must be # and eight hexadecimal digits, alpha red green blue"
        ),
        (#"{"type":"tint"}"#, "color: is missing"),
        (
            ##"{"type":"tint","color":"#ff000000","blendMode":28}"##,
            "blendMode: must be the name of a blend mode or its number, 0 to 27"
        ),
        (
            ##"{"type":"tint","color":"#ff000000","blendMode":"sourcein"}"##,
            "blendMode: must be the name of a blend mode or its number, 0 to 27"
        ),
        (#"{"type":"blur"}"#, "radius: is missing"),
        (#"{"type":"filter","name":"CINothing"}"#, "name: is not a known filter"),
        (#"{"type":"sharper"}"#, "type: is not a known transformer"),
        (#"{"type":"sharpen","sigma":0}"#, "sigma: must be from 0.01 to 10"),
        (#"{"type":"pad","top":-1}"#, "top: must be from 0 to 100000"),
        (#"{"type":"resize","width":1,"height":1,"gravity":"top"}"#, "gravity: needs scaleMode aspectFill"),
        (
            #"{"type":"resize","width":1,"height":1,"scaleMode":"aspectFill","gravity":{"x":0}}"#,
            "gravity.y: is missing"
        ),
        (
            #"{"type":"resize","width":1,"height":1,"scaleMode":"aspectFill","gravity":{"x":0,"y":2}}"#,
            "gravity.y: must be from 0 to 1"
        ),
        (#"{"type":"resize","width":1,"height":1,"enlarge":1}"#, "enlarge: must be true or false"),
        (#"{"width":1}"#, "type: is missing"),
    ])
    func `an invalid transformer is refused with its path`(transform: String, expected: String) {
        #expect(transformRefusal(transform) == "$.variants[0].transform[0].\(expected)")
    }

    @Test(arguments: [
        (##"{"type":"blur","radius":0}"##), (##"{"type":"tint","color":"#00000000"}"##),
        (#"{"type":"crop","x":-10,"y":-10,"width":50,"height":50}"#),
        (##"{"type":"roundCorner","radius":20,"borderWidth":1000,"borderColor":"#ff000000"}"##),
        (#"{"type":"resize","width":1e9,"height":4e-07}"#), (#"{"type":"flip"}"#),
    ])
    func `values that SDWebImage draws or passes through are accepted`(transform: String) {
        #expect(transformRefusal(transform) == "accepted")
    }

    @Test(arguments: [
        (#"[{"name":"a","keySuffix":"x","colour":1}]"#, "$.variants[0].colour: is not a known field"),
        (#"[{"keySuffix":"x"}]"#, "$.variants[0].name: is missing"),
        (#"[{"name":"","keySuffix":"x"}]"#, "$.variants[0].name: must not be empty"),
        (#"[{"name":"a\u0000","keySuffix":"x"}]"#, "$.variants[0].name: must not contain NUL"),
        (#"[{"name":"a","keySuffix":""}]"#, "$.variants[0].keySuffix: must not be empty"),
        (
            #"[{"name":"a","thumbnail":{"width":0,"height":9}}]"#,
            "$.variants[0].thumbnail.width: must be greater than 0"
        ),
        (
            #"[{"name":"a","thumbnail":{"width":9,"height":9,"crop":true}}]"#,
            "$.variants[0].thumbnail.crop: is not a known field"
        ),
        (
            #"[{"name":"a","keySuffix":"x","format":"bmp"}]"#,
            "$.variants[0].format: must be one of jpeg, png, gif, webp, avif, heic, tiff, jxl, auto"
        ),
        (
            #"[{"name":"a","keySuffix":"x","quality":101}]"#,
            "$.variants[0].quality: must be a whole number from 0 to 100"
        ),
        (
            #"[{"name":"a","keySuffix":"x","quality":7.5}]"#,
            "$.variants[0].quality: must be a whole number from 0 to 100"
        ),
        (
            #"[{"name":"a","keySuffix":"x","maxBytes":0}]"#,
            "$.variants[0].maxBytes: must be a whole number from 1 to 2147483647"
        ),
        (
            #"[{"name":"a","encode":{"progressive":true}}]"#,
            "$.variants[0].encode: needs one format"
        ),
        (
            #"[{"name":"a","format":"webp","encode":{"progressive":true}}]"#,
            "$.variants[0].encode.progressive: is not a field of webp"
        ),
        (
            #"[{"name":"a","format":"png","encode":{"effort":3}}]"#,
            "$.variants[0].encode.effort: is not a field of png"
        ),
        (
            #"[{"name":"a","format":"webp","encode":{"effort":7}}]"#,
            "$.variants[0].encode.effort: must be a whole number from 0 to 6"
        ),
        (
            #"[{"name":"a","format":"webp","encode":{"speed":7}}]"#,
            "$.variants[0].encode.speed: is not a known field"
        ),
        (
            #"[{"name":"a","format":"webp","encode":{"lossless":1}}]"#,
            "$.variants[0].encode.lossless: must be true or false"
        ),
        (
            #"[{"name":"a","format":"webp","encode":{"lossless":true,"nearLossless":true}}]"#,
            "$.variants[0].encode.nearLossless: contradicts lossless"
        ),
        (
            #"[{"name":"a","format":"jpeg","encode":{"chromaSubsampling":"4:2:2"}}]"#,
            "$.variants[0].encode.chromaSubsampling: must be one of 4:2:0, 4:4:4"
        ),
        (
            #"[{"name":"a","format":"png","encode":{"colors":16}}]"#,
            "$.variants[0].encode.colors: needs palette"
        ),
        (
            #"[{"name":"a","format":"png","encode":{"colors":17,"palette":true}}]"#,
            "$.variants[0].encode.colors: must be 2, 4, 16 or 256"
        ),
        (
            #"[{"name":"a","format":"png","encode":{"compression":10}}]"#,
            "$.variants[0].encode.compression: must be a whole number from 0 to 9"
        ),
        (#"[{"name":"a","transform":{}}]"#, "$.variants[0].transform: must be a list"),
        (#"[7]"#, "$.variants[0]: must be an object"),
        (#"{}"#, "$.variants: must be a list"),
    ])
    func `an invalid variant is refused with its path`(variants: String, expected: String) {
        #expect(refusal(variants) == expected)
    }

    @Test func `two variants of the same cache key, and one with the original's, are refused by name`() {
        #expect(
            refusal(#"[{"name":"a","transform":[]}]"#)
                == "$.variants[0]: \"a\" has the original's cache key; give it a keySuffix")
        let blur = #""transform":[{"type":"blur","radius":1}]"#
        #expect(
            refusal(#"[{"name":"a",\#(blur)},{"name":"b",\#(blur),"format":"webp"}]"#)
                == "$.variants[1]: \"b\" has the same cache key as \"a\"; give one a keySuffix")
        #expect(refusal(#"[{"name":"a",\#(blur)},{"name":"b",\#(blur),"keySuffix":"webp"}]"#) == "accepted")
        // A key suffix that equals a transformer's key.
        #expect(
            refusal(#"[{"name":"a",\#(blur)},{"name":"b","keySuffix":"SDImageBlurTransformer(1.000000)"}]"#)
                == "$.variants[1]: \"b\" has the same cache key as \"a\"; give one a keySuffix")
    }

    @Test func `names are compared as bytes`() {
        let composed = #"{"name":"\u00e9","keySuffix":"x"}"#, decomposed = #"{"name":"e\u0301","keySuffix":"y"}"#
        #expect(refusal("[\(composed),\(decomposed)]") == "accepted")
        #expect(refusal("[\(composed),\(composed)]").hasPrefix("$.variants[1].name: "))
    }

    @Test func `at most 32 variants and 16 transformers are accepted`() {
        func list(_ count: Int) -> String {
            "[" + (0..<count).map { #"{"name":"v\#($0)","keySuffix":"s\#($0)"}"# }.joined(separator: ",") + "]"
        }
        #expect(refusal(list(32)) == "accepted")
        #expect(refusal(list(33)) == "$.variants: has 33 variants; the limit is 32")
        func blurs(_ count: Int) -> String {
            Array(repeating: #"{"type":"blur","radius":1}"#, count: count).joined(separator: ",")
        }
        #expect(transformRefusal(blurs(16)) == "accepted")
        #expect(transformRefusal(blurs(17)) == "$.variants[0].transform: has 17 transformers; the limit is 16")
    }

    @Test(arguments: ["", "{", "[]", "nonsense", #"{"name":"p","variants":[]"#, #"{"name":"p"}"#])
    func `a text that is not a pipeline is refused`(text: String) {
        #expect(throws: VariantError.self) { try Pipeline(json: text.utf8) }
    }

    @Test func `numbers out of range and texts over 1 MiB are refused`() {
        #expect(transformRefusal(#"{"type":"blur","radius":1e999}"#).hasPrefix("$"))
        #expect(throws: VariantError(path: "$", message: "is longer than 1 MiB")) {
            try Pipeline(json: [UInt8](repeating: 32, count: 1 << 20 + 1))
        }
    }

    @Test func `canonical JSON parses to an equal pipeline with the same ad-hoc name`() throws {
        let text = """
            {"variants":[{"transform":[{"type":"rotate","angle":-0.0},{"type":"roundCorner","radius":2e1,"corners":[]},
            {"height":100.0,"type":"resize","width":200.5},{"type":"tint","color":"#80FF0000"},{"type":"flip"},
            {"type":"filter","name":"CISepiaTone"},{"type":"crop","x":1,"y":2,"width":3,"height":4},
            {"type":"blur","radius":0.1},{"type":"pad","left":3,"color":"#80ff0000"},{"type":"sharpen"},
            {"type":"resize","width":1,"height":2,"scaleMode":"aspectFill","gravity":{"x":0,"y":0.3},"enlarge":false}],
            "name":"a\\"\\n/","quality":75,"thumbnail":{"width":8,"height":9},
            "format":"webp","maxBytes":5,"background":"#ffffffff","keySuffix":"x"}],"name":"p"}
            """
        let pipeline = try Pipeline(json: text.utf8)
        let again = try Pipeline(json: pipeline.canonicalJSON.utf8)
        #expect(again == pipeline)
        #expect(again.canonicalJSON == pipeline.canonicalJSON)
        #expect(again.variants[0].keySuffixes == pipeline.variants[0].keySuffixes)
        #expect(pipeline.canonicalJSON.contains(#""angle":-0.0,"#))
        #expect(pipeline.canonicalJSON.contains(#""height":100,"#))
        let adhoc = try Pipeline.adhoc(pipeline.variants)
        #expect(adhoc.name == (try Pipeline.adhoc(again.variants)).name)
        #expect(adhoc.name.hasPrefix("adhoc-"))
        #expect(adhoc.name.utf8.count == 22)
    }

    @Test func `different ad-hoc lists have different names`() throws {
        let one = try Variant(json: #"{"name":"a","keySuffix":"x"}"#.utf8)
        let other = try Variant(json: #"{"name":"a","keySuffix":"y"}"#.utf8)
        #expect(try Pipeline.adhoc([one]).name != Pipeline.adhoc([other]).name)
        // The digest of [{"keySuffix":"x","name":"a"}], computed with sha256sum.
        #expect(try Pipeline.adhoc([one]).name == "adhoc-dc2e8c8b0922da74")
    }

    @Test func `a budget is kept in the JSON, and no part of the key or the recipe`() throws {
        let plain = try Variant(json: #"{"name":"a","keySuffix":"x"}"#.utf8)
        let bound = try Variant(json: #"{"name":"a","keySuffix":"x","budget":{"maxBytes":1000}}"#.utf8)
        #expect(bound.budget == 1_000)
        #expect(bound.keySuffixes == plain.keySuffixes)
        #expect(bound.recipe == plain.recipe)
        #expect(bound.canonicalJSON == #"{"budget":{"maxBytes":1000},"keySuffix":"x","name":"a"}"#)
        for wrong in ["{}", "7", #"{"maxBytes":0}"#, #"{"maxBytes":"1"}"#, #"{"maxBytes":1,"max":2}"#] {
            let error = try #require(throws: VariantError.self) {
                try Variant(json: #"{"name":"a","keySuffix":"x","budget":\#(wrong)}"#.utf8)
            }
            #expect(error.description.hasPrefix("$.budget"), "\(error)")
        }
    }

    @Test func `animation is still or frames, and part of the key`() throws {
        let still = try Variant(json: #"{"name":"a","animation":"still","keySuffix":"x"}"#.utf8)
        #expect(still.keySuffixes == ["LarderFirstFrame-x"])
        #expect(still.canonicalJSON == #"{"animation":"still","keySuffix":"x","name":"a"}"#)
        let error = try #require(throws: VariantError.self) {
            try Variant(json: #"{"name":"a","animation":"loop"}"#.utf8)
        }
        #expect(error.description == "$.animation: must be one of still, frames")
    }

    @Test func `an animation in a format with one frame is refused`() throws {
        let pipeline = try Pipeline(
            json: #"{"name":"p","variants":[{"name":"a","animation":"frames","format":"jpeg"}]}"#.utf8)
        #expect(pipeline.variants[0].keySuffixes == ["LarderEveryFrame"])
        let error = try #require(throws: VariantError.self) { try pipeline.validateSupported() }
        #expect(error.description == "$.variants[0].animation: needs png, gif or webp; a jpeg has one frame")
    }

    @Test func `given settings of the encoder are part of the key`() throws {
        let text = #"{"encode":{"effort":4,"lossless":false},"format":"webp","keySuffix":"x","name":"a"}"#
        let variant = try Variant(json: text.utf8)
        #expect(variant.keySuffixes == ["LarderEncoding(effort=4,lossless=false)-x"])
        #expect(variant.canonicalJSON == text)
        let jpeg = try Variant(
            json: #"{"name":"a","format":"jpeg","encode":{"progressive":true,"chromaSubsampling":"4:4:4"}}"#.utf8)
        #expect(jpeg.keySuffixes == ["LarderEncoding(chromaSubsampling=4:4:4,progressive=true)"])
        #expect(try Variant(json: #"{"name":"a","encode":{},"format":"png"}"#.utf8).keySuffixes.isEmpty)
    }

    @Test(arguments: ["palette", "progressive"])
    func `frames of a PNG that would share a palette or passes are refused`(field: String) throws {
        let pipeline = try Pipeline(
            json:
                #"{"name":"p","variants":[{"name":"a","animation":"frames","format":"png","encode":{"\#(field)":true}}]}"#
                .utf8)
        let error = try #require(throws: VariantError.self) { try pipeline.validateSupported() }
        #expect(error.description == "$.variants[0].encode.\(field): is for a png with one frame")
    }

    @Test func `a variant with every field is supported`() throws {
        let text = ##"""
            {"name":"p","variants":[{"name":"a","transform":[{"type":"blur","radius":1},{"type":"flip"},
            {"type":"rotate","angle":1},{"type":"roundCorner","radius":1},{"type":"tint","color":"#ff000000"},
            {"type":"filter","name":"CIColorInvert"}],"format":"avif","maxBytes":10,"background":"#ff000000",
            "maxPixelSize":{"width":9,"height":8},"keepICC":true,"keepCopyright":true}]}
            """##
        let pipeline = try Pipeline(json: text.utf8)
        try pipeline.validateSupported()
        #expect(try Pipeline(json: pipeline.canonicalJSON.utf8) == pipeline)
    }

    @Test func `variants without contradictions are supported`() throws {
        let text = """
            {"name":"p","variants":[{"name":"a","thumbnail":{"width":8,"height":9},"format":"webp","quality":1,
            "transform":[{"type":"resize","width":5,"height":5},{"type":"crop","x":0,"y":0,"width":1,"height":1}]}]}
            """
        try Pipeline(json: text.utf8).validateSupported()
        try Pipeline.original.validateSupported()
    }
}
