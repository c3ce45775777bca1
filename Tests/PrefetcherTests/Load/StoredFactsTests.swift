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

    private var file: StoredFile {
        var file = StoredFile(key: "k", bytes: 7, format: "webp", sha256: String(repeating: "a", count: 64))
        (file.recipe, file.width, file.height) = ("0123456789abcdef", 8, 70_000)
        return file
    }

    @Test func `facts are read as they were saved`() {
        var file = file
        let variant = StoredFacts(of: file)
        #expect(StoredFacts(variant.bytes(7), length: 7) == variant)
        file.digest = digest
        let original = StoredFacts(of: file)
        #expect(StoredFacts(original.bytes(7), length: 7) == original)
        #expect(StoredFacts(StoredFacts().bytes(7), length: 7) == StoredFacts())
    }

    @Test func `the facts of a variant fit into an inode of ext4`() {
        #expect(StoredFacts(of: file).bytes(Int.max).count <= 60)
    }

    @Test func `another version, length or size of the attribute says nothing`() {
        let bytes = StoredFacts(of: file).bytes(7)
        #expect(StoredFacts(bytes, length: 8) == StoredFacts())
        #expect(StoredFacts([9] + bytes.dropFirst(), length: 7) == StoredFacts())
        #expect(StoredFacts(Array(bytes.prefix(52)), length: 7) == StoredFacts())
        #expect(StoredFacts([], length: 7) == StoredFacts())
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

    @Test func `many requests are answered at once where the cache has everything, as each load would be`() async throws
    {
        let harness = try ManagerHarness()
        for path in ["/a.jpg", "/b.jpg"] { harness.origin.on(path, .body(harness.image)) }
        let manager = try harness.manager()
        _ = try await manager.load(try harness.request("/a.jpg"))
        _ = try await manager.load(try harness.request("/b.jpg", variants: "[]"))
        let whole = try harness.request("/a.jpg")
        let answers = await manager.cached([
            whole, try harness.request("/b.jpg"), try harness.request("/c.jpg"),
            try harness.request("/a.jpg", .refreshCached),
        ])
        #expect(answers.map { $0?.stored.map(\.origin) } == [[.cached, .cached], nil, nil, nil])
        #expect(answers[0]?.stored == (try await manager.load(whole)).stored)
        #expect(harness.origin.requests.count == 2)
    }
}
