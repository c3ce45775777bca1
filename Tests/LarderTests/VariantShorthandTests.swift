import TestSupport
import Testing

@testable import Commands
@testable import ImageModel
@testable import Terminal

/// The short form of `--variant`.
@Suite(.timeLimit(.minutes(2)))
struct VariantShorthandTests {
    private static let resize = #""type":"resize","width":64,"height":48"#

    @Test(arguments: [
        ("card=800x600", #"{"name":"card","thumbnail":{"width":800,"height":600}}"#),
        ("a b=1x1:jpg", #"{"name":"a b","thumbnail":{"width":1,"height":1},"format":"jpeg"}"#),
        ("v=9x9:auto,q=0", #"{"name":"v","thumbnail":{"width":9,"height":9},"format":"auto","quality":0}"#),
        ("v=9x9,budget=100", #"{"name":"v","thumbnail":{"width":9,"height":9},"budget":{"maxBytes":100}}"#),
        ("v=64x48,crop", #"{"name":"v","transform":[{\#(resize),"scaleMode":"aspectFill"}]}"#),
        ("v=64x48,fit", #"{"name":"v","transform":[{\#(resize),"scaleMode":"aspectFit"}]}"#),
        ("v=64x48,fill", #"{"name":"v","transform":[{\#(resize)}]}"#),
        (
            "v=64x48:webp,round=8.5,blur=2,crop,q=75,key=w=1",
            #"{"name":"v","transform":[{\#(resize),"scaleMode":"aspectFill"},{"type":"roundCorner","radius":8.5},"#
                + #"{"type":"blur","radius":2}],"format":"webp","quality":75,"keySuffix":"w=1"}"#
        ),
    ])
    func `a short form is the variant of its JSON`(short: String, json: String) throws {
        let variants = try VariantJSON.variants([short, json])
        #expect(variants[0] == variants[1])
        #expect(variants[0].canonicalJSON == variants[1].canonicalJSON)
    }

    @Test(arguments: [
        ("thumb", "a variant is NAME=WxH"), ("=8x8", "the name before '='"), ("v=", "the size ''"),
        ("v=800", "the size '800' is not WIDTHxHEIGHT"), ("v=800x", "800x800 is a box"), ("v=x80", "80x80 is a box"),
        ("v=0x8", "the size '0x8'"), ("v=-1x8", "the size '-1x8'"), ("v=1.5x8", "the size '1.5x8'"),
        ("v=8x8x8", "the size '8x8x8'"), ("v=x", "the size 'x'"), ("v=8x8:bmp", "the format 'bmp' is none of jpeg"),
        ("v=8x8:", "the format ''"), ("v=8x8,crop,fit", "'fit' is a second one"), ("v=8x8,q=101", "'q=101'"),
        ("v=8x8,q=1,q=2", "'q=2' is given a second time"), ("v=8x8,blur", "'blur' is none of crop, fit"),
        ("v=8x8,blur=-1", "'blur=-1'"), ("v=8x8,round=nan", "'round=nan'"), ("v=8x8,key=", "'key=' has no text"),
        ("v=8x8,budget=0", "'budget=0'"), ("v=8x8,budget=1k", "'budget=1k'"),
        ("v=8x8,", "'' is none of"), ("v=8x8,crop=1", "'crop=1' is none of"),
    ])
    func `an error names the part and shows an example`(short: String, part: String) throws {
        let error = #expect(throws: CommandError.self) { try VariantJSON.variants(["a=1x1", short]) }
        #expect(error?.exit == .wrongUsage)
        #expect(error?.message.hasPrefix("--variant number 2: '\(short)': ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.hasSuffix("; an example is card=800x800:webp,q=75") == true, "\(error?.message ?? "")")
    }

    @Test func `an error in JSON shows both forms`() throws {
        let error = #expect(throws: CommandError.self) { try VariantJSON.variants([#"{"name":"v","width":8}"#]) }
        let message = error?.message ?? ""
        #expect(message.contains("$.width: is not a known field; examples are '{\"name\":\"card\""), "\(message)")
        #expect(message.hasSuffix("and card=800x800:webp,q=75"), "\(message)")
    }

    @Test func `a run with the short form and a run with the JSON use one pipeline`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let forms = [
            "card=40x40:webp,q=75",
            #"{"name":"card","thumbnail":{"width":40,"height":40},"format":"webp","quality":75}"#,
        ]
        for form in forms {
            #expect(try await scene.larder("run", url, "--variant", form).code == 0)
            #expect(try await scene.larder("pipeline", "set", "cards", "--variant", form).text == "cards: version 1\n")
        }
        #expect(try await scene.sql("SELECT count(*) FROM larder.pipeline WHERE name LIKE 'adhoc-%'") == "1")
        #expect(scene.stored.count == 2)
    }
}
