import DiskCache
import ImageModel
import TestSupport
import Testing

@testable import Prefetcher

/// Files that are found in the cache are reported with what is known of them.
@Suite(.timeLimit(.minutes(5)))
struct StoredFactsTests {
    private let digest = ImageDigest(
        thumbHash: "dBgGFYQFd4h3d3eIiIh3hHQI", blurHash: "L6PZfSi_.AyE_3t7t7R**0o#DgR4", averageColor: "#ff102030",
        dominantColor: "#ff405060", perceptualHash: "0123456789abcdef", hasAlpha: true, frames: 3)

    @Test func `facts are read as they were saved`() {
        var file = StoredFile(key: "k", bytes: 7, format: "webp", sha256: String(repeating: "a", count: 64))
        (file.recipe, file.width, file.height, file.digest) = ("0123", 8, 9, digest)
        let facts = StoredFacts(of: file)
        #expect(StoredFacts(facts.text(7), bytes: 7) == facts)
        #expect(StoredFacts(StoredFacts().text(7), bytes: 7) == StoredFacts())
    }

    @Test(arguments: ["", "7", "x - - - - - - - - - - - -", "8 r png - - - - - - - - - -"])
    func `another text, or one of another length, says nothing`(_ text: String) {
        #expect(StoredFacts(text, bytes: 7) == StoredFacts())
    }

    @Test func `files from the cache are reported as they were when they were stored`() async throws {
        let harness = try ManagerHarness()
        harness.origin.on("/a.jpg", .body(harness.image))
        let first = try await harness.manager().load(try harness.request())
        let again = try await harness.manager().load(try harness.request())
        #expect(again.stored.map(\.origin) == [.cached, .cached])
        #expect(again.stored.map(\.format) == first.stored.map(\.format))
        #expect(again.stored.map(\.width) == [80, 20])
        #expect(again.stored.map(\.sha256) == first.stored.map(\.sha256))
        #expect(again.stored[0].digest != nil)
        #expect(again.stored[0].digest == first.stored[0].digest)
    }

    @Test func `the first bytes tell the format of a file that another program stored`() async throws {
        let harness = try ManagerHarness()
        let manager = try harness.manager()
        try harness.cache.store(harness.image, as: CacheKey(harness.origin.url("/a.jpg")))
        let report = try await manager.load(try harness.request())
        #expect(report.stored[0].origin == .cached)
        #expect(report.stored[0].format == "jpeg")
    }
}
