import Foundation
import TestSupport
import Testing

/// Standard error with `--log-format json`.
@Suite(.timeLimit(.minutes(5)))
struct JSONLogTests {
    /// dav1d prints to standard error on an AVIF with a broken sequence header.
    @Test func `a codec that prints a message adds no line to the log`() async throws {
        let scene = try await Scene()
        var image = try TestImage.bytes("still.avif")
        let media = try #require(image.indices.first { image[$0...].starts(with: Array("mdat".utf8)) }) + 4
        for index in media + 4..<media + 14 { image[index] = 0xFF }
        scene.origin.on("/broken.avif", .body(image))
        let outcome = try await scene.larder(
            "run", "--json", "--verbose", "--log-format", "json", scene.origin.url("/broken.avif"))
        #expect(outcome.code == 1 && outcome.text.contains("1001"), "\(outcome.text)")
        let lines = outcome.errorText.split(separator: "\n").map(String.init)
        let events = lines.compactMap { try? fields($0) }
        #expect(!events.isEmpty && events.count == lines.count, "\(outcome.errorText)")
    }
}
