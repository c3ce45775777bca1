import Foundation
import TestSupport
import Testing

/// `larder key` and `larder sniff` print SDWebImage's names.
@Suite(.timeLimit(.minutes(5)))
struct KeyTests {
    /// The vectors of DiskCacheTests.
    private struct Vectors: Decodable {
        struct Derived: Decodable {
            let key, suffix, expected: String
        }

        struct Name: Decodable {
            let key, expected: String
        }

        let derivedKeys: [Derived]
        let fileNames: [Name]

        static func read() throws -> Vectors {
            let file = PackageRoot.path + "/Tests/DiskCacheTests/Vectors/key_vectors.json"
            return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: URL(filePath: file)))
        }
    }

    private struct Line: Decodable, Equatable {
        let variant: String?
        let key: String?
        let file: String?
    }

    private func lines(_ arguments: [String]) async throws -> [Line] {
        var command = LarderCommand("key")
        command.arguments += arguments
        let outcome = try await command.run()
        let warnings = outcome.errorText.split(separator: "\n")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(warnings.count <= 1, "\(outcome.errorText)")
        #expect(warnings.allSatisfy { $0.hasPrefix("larder: an app escapes this URL") }, "\(outcome.errorText)")
        return try outcome.lines.map { line in
            #expect(try Set(fields(line).keys) == ["variant", "key", "file"])
            return try JSONDecoder().decode(Line.self, from: Data(line.utf8))
        }
    }

    private func expectSame(_ found: String?, _ expected: String, _ key: String) {
        // Compares bytes, because canonically equal texts have different file names.
        #expect(found.map { Array($0.utf8) } == Array(expected.utf8), "\(key): \(found ?? "none")")
    }

    @Test func `what SDWebImage does not draw has a key of Larder's own`() async throws {
        func key(_ fields: String) async throws -> String? {
            try await lines(["http://a/b.jpg", "--variant", #"{"name":"v",\#(fields)}"#]).last?.key
        }
        let resize = #"{"type":"resize","width":200,"height":100,"scaleMode":"aspectFill","gravity":"top"}"#
        let filter = #"{"type":"filter","name":"CISepiaTone"}"#
        #expect(
            try await key(#""transform":[\#(resize),\#(filter)],"format":"webp","encode":{"effort":6},"keySuffix":"w""#)
                == "http://a/b-LarderResizingTransformer(%7B200.000000,100.000000%7D,2,gravity=top)"
                + "-LarderFilterTransformer(CISepiaTone)-LarderEncoding(effort=6)-w.jpg")
        #expect(
            try await key(#""transform":[{"type":"watermark","file":"logo.png"}],"format":"jpeg","ssim":0.98"#)
                == "http://a/b-LarderWatermarkTransformer(logo.png,bottomRight,1.000000,(null),0.000000)"
                + "-LarderQuality(ssim=0.980000).jpg")
    }

    @Test func `key prints the file name of every key of the vectors`() async throws {
        // An argument cannot contain a zero byte.
        let names = try Vectors.read().fileNames.filter { !$0.key.utf8.contains(0) }
        #expect(names.count > 40)
        let found = try await lines(["--"] + names.map(\.key))
        #expect(found.count == names.count)
        for (line, name) in zip(found, names) {
            #expect(line.variant == nil)
            expectSame(line.key, name.key, name.key)
            expectSame(line.file, name.expected, name.key)
        }
    }

    @Test func `key appends every transformer key of the vectors as a suffix`() async throws {
        let derived = try Vectors.read().derivedKeys.filter { !$0.key.isEmpty && !$0.suffix.isEmpty }
        #expect(derived.count > 20)
        for (suffix, cases) in Dictionary(grouping: derived, by: \.suffix) {
            let found = try await lines(["--suffix", suffix, "--"] + cases.map(\.key))
            #expect(found.count == cases.count * 2)
            for (index, one) in cases.enumerated() {
                let line = found[index * 2 + 1]
                #expect(line.variant == suffix)
                expectSame(line.key, one.expected, "\(one.key) + \(suffix)")
            }
        }
    }

    @Test func `key has the rules of iOS 17 and of iOS 27`() async throws {
        let key = "https://h/a%20b|c.jpg"
        for (options, expected) in [
            ([], "https://h/a%2520b%7Cc-T.jpg"), (["--url-rules", "ios17"], "https://h/a%2520b%7Cc-T.jpg"),
            (["--url-rules", "ios27"], "https://h/a%20b%7Cc-T.jpg"),
        ] {
            #expect(try await lines(options + ["--suffix", "T", key]).map(\.key) == [key, expected])
        }
        let outcome = try await LarderCommand("key", "--url-rules", "ios16", key).run()
        #expect(outcome.code == 2)
        #expect(outcome.errorText.contains("--url-rules: 'ios16' is not one of ios17, ios27"))
    }

    @Test func `key warns once of a URL that an app escapes`() async throws {
        let keys = ["http://h/plain.png", "http://bücher.de/ä 1.png?sig=secret", "http://h/b[1].png", "not a URL ä"]
        let outcome = try await LarderCommand("key", keys[0], keys[1], keys[2], keys[3]).run()
        #expect(
            outcome.errorText == """
                larder: an app escapes this URL and asks for another key, \
                'http://xn--bcher-kva.de/%C3%A4%201.png?sig=***' instead of 'http://bücher.de/ä 1.png?sig=***'; \
                --escape-urls takes the app's

                """)
        let escaped = try await LarderCommand("key", "--escape-urls", keys[0], keys[1], keys[2], keys[3]).run()
        #expect(escaped.errorText == "")
        let found = try escaped.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)).key }
        #expect(
            found == [
                "http://h/plain.png", "http://xn--bcher-kva.de/%C3%A4%201.png?sig=secret", "http://h/b%5B1%5D.png",
                "not a URL ä",
            ])
    }

    @Test func `key prints the original, each variant and each suffix per key`() async throws {
        let found = try await lines([
            "--variant", Variants.small, "--variant", Variants.thumb, "--suffix", "MyTransformer(1)",
            "http://a.example/a.png", "plain",
        ])
        #expect(
            found.map(\.variant) == [
                nil, "small", "thumb", "MyTransformer(1)", nil, "small", "thumb", "MyTransformer(1)",
            ])
        #expect(
            found.map(\.key) == [
                "http://a.example/a.png",
                "http://a.example/a-SDImageResizingTransformer(%7B20.000000,10.000000%7D,0).png",
                "http://a.example/a-Thumbnail(%7B16.000000,16.000000%7D,1).png",
                "http://a.example/a-MyTransformer(1).png",
                "plain", "plain-SDImageResizingTransformer({20.000000,10.000000},0)",
                "plain-Thumbnail({16.000000,16.000000},1)", "plain-MyTransformer(1)",
            ])
    }

    @Test func `key accepts variants of any size`() async throws {
        let found = try await lines([
            "--variant",
            #"{"name":"v","transform":[{"type":"blur","radius":5},{"type":"resize","width":1e6,"height":1e6}]}"#,
            "http://a.example/a",
        ])
        #expect(
            found.last?.key
                == "http://a.example/a-SDImageBlurTransformer(5.000000)-SDImageResizingTransformer({1000000.000000,1000000.000000},0)"
        )
    }

    @Test func `key needs no database, cache or home`() async throws {
        var command = LarderCommand("key", "http://a.example/a.png")
        command.environment = ["LARDER_DATABASE_URL": "nonsense", "LARDER_CACHE": "/dev/null/cache", "HOME": ""]
        #expect(try await command.run().code == 0)
    }

    @Test func `sniff prints SDWebImage's formats and continues after an unreadable file`() async throws {
        let directory = try TemporaryDirectory()
        let cases = [
            ("plain.jpg", "jpeg", 0), ("rgb.png", "png", 1), ("still.gif", "gif", 2), ("still.webp", "webp", 4),
            ("still.heic", "heic", 5), ("still.avif", "undefined", -1),
        ]
        let images = PackageRoot.path + "/Tests/TranscoderTests/Images/"
        let empty = try directory.write([UInt8](), to: "empty")
        let svg = try directory.write("<svg xmlns='http://www.w3.org/2000/svg'></svg>".utf8, to: "a.svg")
        var command = LarderCommand("sniff", "--json", directory.file("missing"), empty, svg)
        command.arguments += cases.map { images + $0.0 }
        let outcome = try await command.run()
        #expect(outcome.code == 1, "one file is missing")
        #expect(outcome.lines.count == cases.count + 3)
        let missing = try JSONDecoder().decode(ErrorLine.self, from: Data(outcome.lines[0].utf8)).error
        #expect(missing.kind == "LarderErrorDomain 2")
        #expect(missing.message.contains("missing"))
        let found = try outcome.lines.dropFirst().map(fields)
        for line in found { #expect(Set(line.keys) == ["path", "format", "sdImageFormat"]) }
        #expect(found[0]["format"] as? String == "undefined")
        #expect(found[0]["sdImageFormat"] as? Int == -1)
        #expect(found[1]["format"] as? String == "svg")
        for (line, one) in zip(found.dropFirst(2), cases) {
            #expect(line["format"] as? String == one.1, "\(one.0)")
            #expect(line["sdImageFormat"] as? Int == one.2, "\(one.0)")
        }
    }
}
