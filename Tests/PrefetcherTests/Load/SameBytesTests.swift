import DiskCache
import ImageModel
import TestSupport
import Testing

@testable import Prefetcher

/// Several URLs with the same bytes.
@Suite(.timeLimit(.minutes(5)))
struct SameBytesTests {
    private let harness: ManagerHarness

    init() throws {
        harness = try ManagerHarness()
        for path in ["/a.jpg", "/b.jpg"] { harness.origin.on(path, .body(harness.image)) }
    }

    private func loadFirst(_ manager: ImageManager) async throws {
        let first = try await manager.load(try harness.request())
        #expect(first.stored.map(\.origin) == [.downloaded, .transcoded])
    }

    @Test func `a second URL with the same bytes gets copies of the variants, under its own keys`() async throws {
        let manager = try harness.manager()
        try await loadFirst(manager)
        let second = try await manager.load(try harness.request("/b.jpg"))
        #expect(second.stored.map(\.origin) == [.downloaded, .reused])
        #expect(second.stored.map(\.width) == [80, 20])
        #expect(second.made == 1)
        #expect(second.reused == 1)
        #expect(second.stored[1].key == CacheKey(harness.origin.url("/b.jpg")).appending(ManagerHarness.halfKey)?.text)
        let made = try #require(harness.storedHalf(harness.origin.url("/a.jpg")))
        #expect(harness.storedHalf(harness.origin.url("/b.jpg")) == made)
        #expect(second.stored[1].recipe != nil)
        let again = try await manager.load(try harness.request("/b.jpg"))
        #expect(again.stored.map(\.origin) == [.cached, .cached])
        #expect(again.stored[1].recipe == second.stored[1].recipe)
    }

    @Test func `other variants of the same bytes are made`() async throws {
        let manager = try harness.manager()
        try await loadFirst(manager)
        let other = #"[{"name":"half","transform":[{"type":"resize","width":20,"height":12}]}]"#
        let second = try await manager.load(try harness.request("/b.jpg", [], variants: other))
        #expect(second.stored.map(\.origin) == [.downloaded, .transcoded])
    }

    @Test func `a file that was removed or changed meanwhile is not copied`() async throws {
        let manager = try harness.manager()
        try await loadFirst(manager)
        let key = try #require(CacheKey(harness.origin.url("/a.jpg")).appending(ManagerHarness.halfKey))
        let made = try #require(harness.stored(key.text))
        try harness.cache.remove(key)
        #expect(try await manager.load(try harness.request("/b.jpg")).stored[1].origin == .transcoded)
        try harness.cache.store(Array("other".utf8), as: key)
        harness.origin.on("/c.jpg", .body(harness.image))
        #expect(try await manager.load(try harness.request("/c.jpg")).stored[1].origin == .reused)
        #expect(harness.storedHalf(harness.origin.url("/c.jpg")) == made)
    }

    @Test func `with a serializer each image is made`() async throws {
        let manager = try harness.manager { $0.serializer.own = { bytes, _ in bytes } }
        try await loadFirst(manager)
        #expect(try await manager.load(try harness.request("/b.jpg")).stored[1].origin == .transcoded)
    }

    @Test func `a manager copies only what it made itself`() async throws {
        try await loadFirst(try harness.manager())
        let other = try harness.manager()
        #expect(try await other.load(try harness.request("/b.jpg")).stored[1].origin == .transcoded)
    }
}
