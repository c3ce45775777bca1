import Foundation
import TestSupport
import Testing

/// Formats that are refused without `--allow-format`.
@Suite(.timeLimit(.minutes(5)))
struct AllowedFormatTests {
    @Test func `a worker accepts an optional format only with --allow-format`() async throws {
        let scene = try await Scene()
        let svg = try scene.serve("still.svg", at: "/a.svg"), tiff = try scene.serve("still.tiff", at: "/a.tiff")
        let refused = try RunLines(try await scene.larder("run", "--json", svg))
        #expect(try refused.failure(svg).kind == "SDWebImageErrorDomain 1001")
        var command = scene.larder([
            "run", "--json", "--options", "RetryFailed", "--variant", Variants.small, svg, tiff,
        ])
        command.environment["LARDER_ALLOW_FORMAT"] = "svg,tiff"
        let outcome = try await command.run()
        #expect(outcome.code == 0, "\(outcome.text)\(outcome.errorText)")
        // The originals and one variant of each.
        #expect(scene.stored.count == 4)
    }

    @Test func `every command takes --allow-format and refuses unknown formats`() async throws {
        let directory = try TemporaryDirectory()
        func larder(_ arguments: String...) async throws -> CommandOutcome {
            var command = LarderCommand(environment: ["LARDER_HOME": directory.file("home")])
            command.arguments = arguments
            return try await command.run()
        }
        let pdf = PackageRoot.path + "/Tests/TranscoderTests/Images/still.pdf", output = directory.file("out.png")
        let variant = #"{"name":"v","thumbnail":{"width":40,"height":40}}"#
        let closed = try await larder("transform", pdf, "-o", output, "--json", "--variant", variant)
        #expect(closed.code == 1, "\(closed.text)")
        #expect(closed.text.contains("1001"), "\(closed.text)")
        let open = try await larder(
            "transform", pdf, "-o", output, "--json", "--variant", variant, "--allow-format", "pdf")
        #expect(open.code == 0, "\(open.text)\(open.errorText)")
        #expect(open.text.contains("\"width\":40"), "\(open.text)\(open.errorText)")
        let other = try await larder(
            "transform", pdf, "-o", output, "--json", "--variant", variant, "--allow-format", "svg", "--allow-format",
            "tiff")
        #expect(other.code == 1)
        let wrong = try await larder("transform", pdf, "-o", output, "--variant", variant, "--allow-format", "bmp")
        #expect(wrong.code == 2)
        #expect(wrong.errorText.contains("bmp"))
        let plan = try await larder("transform", pdf, "--explain", "--variant", variant, "--allow-format", "pdf")
        #expect(plan.code == 0, "\(plan.text)")
        #expect(plan.text.contains("80×60"), "\(plan.text)")
    }
}
