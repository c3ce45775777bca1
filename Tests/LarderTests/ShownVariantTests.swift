import Foundation
import TestSupport
import Testing

/// What `larder key` and `larder transform --explain` show of variants.
@Suite(.timeLimit(.minutes(5)))
struct ShownVariantTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func image(_ name: String) -> String { PackageRoot.path + "/Tests/TranscoderTests/Images/" + name }

    private func larder(_ arguments: String...) async throws -> CommandOutcome {
        var command = LarderCommand(environment: ["LARDER_HOME": directory.file("home")])
        command.arguments = arguments
        return try await command.run()
    }

    @Test func `keys of auto, jxl and trim are printed without the image`() async throws {
        let outcome = try await larder(
            "key", "http://a/b.jpg", "--variant", #"{"name":"one","trim":{},"format":"auto"}"#, "--variant",
            #"{"name":"two","thumbnail":{"width":8,"height":9},"format":"jxl","encode":{"effort":7}}"#)
        let text = outcome.text.replacing("\\/", with: "/")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(text.contains("http://a/b-LarderTrim(10.000000,(null))-LarderFormat(avif,webp,jpeg).jpg"), "\(text)")
        #expect(
            text.contains(
                "http://a/b-Thumbnail(%7B8.000000,9.000000%7D,1)-LarderFormat(jxl)-LarderEncoding(effort=7).jpg"),
            "\(text)")
    }

    @Test func `explain shows the formats of auto and the bound of a trimmed size`() async throws {
        let outcome = try await larder(
            "transform", image("plain.jpg"), "--explain", "--variant",
            #"{"name":"v","trim":{},"thumbnail":{"width":20,"height":20},"format":"auto","formats":["webp","jpeg"]}"#)
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(
            outcome.lines.last
                == "v: from decoded image → trim within 10.0 of the first pixel → scale to 20×20 → "
                + "the smallest of jpeg, webp, quality 95, ssim 0.96, at most 20×20", "\(outcome.text)")
    }
}
