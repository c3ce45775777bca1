import DiskCache
import Foundation
import ImageModel
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// A memory cache in front of the disk (spec 2.5, 2.11 and 8 of SDWebImage 5.21.5).
@Suite(.timeLimit(.minutes(5)))
struct ManagerMemoryTests {
    private let harness: ManagerHarness
    private let memory = MemoryCache<Data>()
    private let manager: ImageManager

    init() throws {
        harness = try ManagerHarness()
        let memory = memory
        manager = try harness.manager { $0.memory = memory }
        harness.origin.on("/a.jpg", .body(harness.image))
    }

    private var url: String { harness.origin.url("/a.jpg") }
    private var halfKey: CacheKey { get throws { try #require(CacheKey(url).appending(ManagerHarness.halfKey)) } }

    private func request(_ context: String = "{}", variants: String = ManagerHarness.half) throws -> LoadRequest {
        var request = try harness.request(variants: variants)
        request.context = try LoadContext(json: context.utf8)
        return request
    }

    @Test func `stored files are kept in memory and then read without the disk`() async throws {
        _ = try await manager.load(try request())
        #expect(memory.value(for: try halfKey).map(Array.init) == harness.storedHalf(url))
        #expect(!memory.contains(CacheKey(url)), "the original is for the disk unless it is calls for")
        try harness.cache.remove(CacheKey(url))
        try harness.cache.remove(try halfKey)
        let report = try await manager.load(try request())
        #expect(report.downloads == 0)
        #expect(report.stored.map(\.origin) == [.cached])
        #expect(report.stored.map(\.path) == [nil])
        #expect(report.stored.first?.bytes == memory.value(for: try halfKey)?.count)
        #expect(harness.storedHalf(url) == nil)
        #expect(harness.origin.count("/a.jpg") == 1)
    }

    @Test func `a load without variants keeps its original in memory`() async throws {
        _ = try await manager.load(try request(variants: "[]"))
        #expect(memory.value(for: CacheKey(url)).map(Array.init) == harness.image)
        try harness.cache.remove(CacheKey(url))
        #expect(try await manager.load(try request(variants: "[]")).downloads == 0)
    }

    @Test func `a disk hit is kept in memory`() async throws {
        _ = try await manager.load(try request())
        memory.removeAll()
        let report = try await manager.load(try request())
        #expect(report.downloads == 0)
        #expect(report.made == 0)
        #expect(report.stored.last?.path != nil)
        #expect(memory.value(for: try halfKey).map(Array.init) == harness.storedHalf(url))
    }

    @Test func `a missing variant is made when memory has the others`() async throws {
        _ = try await manager.load(try request())
        let two =
            ManagerHarness.half.dropLast() + #",{"name":"flat","transform":[{"type":"resize","width":9,"height":3}]}]"#
        let report = try await manager.load(try request(variants: String(two)))
        #expect(report.made == 1)
        #expect(report.downloads == 0)
        #expect(report.stored.count == 3)
    }

    // Row test49SDImageCacheQueryOp of the vectors.
    @Test func `storeCacheType disk keeps disk hits out of memory`() async throws {
        _ = try await manager.load(try request(#"{"storeCacheType":1}"#))
        _ = try await manager.load(try request(#"{"storeCacheType":1}"#))
        #expect(memory.count == 0)
        #expect(harness.storedHalf(url) != nil)
    }

    @Test(arguments: [2, 0])
    func `storeCacheType memory writes no file; none keeps nothing`(type: Int) async throws {
        let report = try await manager.load(try request(#"{"storeCacheType":\#(type)}"#))
        #expect(harness.storedHalf(url) == nil)
        #expect(harness.stored(url) == harness.image)
        #expect(memory.contains(try halfKey) == (type == 2))
        #expect(report.stored.map(\.name) == (type == 2 ? [nil, "half"] : [nil]))
        #expect(report.stored.last?.name == nil || report.stored.last?.path == nil)
    }

    @Test(arguments: [0, 1, 2, 3])
    func `originalStoreCacheType selects where the original is stored`(type: Int) async throws {
        _ = try await manager.load(try request(#"{"originalStoreCacheType":\#(type)}"#))
        #expect(memory.contains(CacheKey(url)) == (type & 2 != 0))
        #expect((harness.stored(url) != nil) == (type & 1 != 0))
    }

    @Test func `queryCacheType disk, FromLoaderOnly and RefreshCached do not query memory`() async throws {
        _ = try await manager.load(try request())
        try harness.cache.remove(CacheKey(url))
        try harness.cache.remove(try halfKey)
        #expect(try await manager.load(try request(#"{"queryCacheType":1}"#)).downloads == 1)
        for option in [LoadOptions.fromLoaderOnly, .refreshCached] {
            #expect(try await manager.load(try harness.request("/a.jpg", option)).stored.last?.path != nil)
        }
        #expect(harness.origin.count("/a.jpg") == 4)
    }

    @Test func `FromCacheOnly is answered from memory, and shouldDownload is still called`() async throws {
        _ = try await manager.load(try request())
        try harness.cache.remove(CacheKey(url))
        try harness.cache.remove(try halfKey)
        let calls = CallCount()
        let memory = memory
        let other = try harness.manager { configuration in
            configuration.memory = memory
            configuration.shouldDownload = { _ in
                calls.add()
                return false
            }
        }
        #expect(try await other.load(try harness.request("/a.jpg", .fromCacheOnly)).stored.count == 1)
        #expect(calls.value == 1)
    }

    // Row test42StoreCacheWithImageAndFormatWithoutImageData of the vectors.
    @Test(arguments: [
        ("plain.jpg", "jpeg"), ("still.avif", "jpeg"), ("alpha.png", "png"), ("animated.gif", "gif"),
        ("animated.png", "png"),
    ])
    func `a variant keeps the original's format, except for formats that cannot be written`(
        image: String, format: String
    ) async throws {
        let bytes = try TestImage.bytes(image)
        harness.origin.on("/\(image)", .body(bytes))
        let report = try await manager.load(try harness.request("/\(image)"))
        let stored = try #require(report.stored.last)
        #expect(stored.format == format)
        if image.hasPrefix("animated") {
            #expect(stored.origin == .copied)
            #expect(harness.storedHalf(harness.origin.url("/\(image)")) == bytes)
        }
    }

    @Test func `an AVIF image with alpha becomes a PNG`() async throws {
        harness.origin.on("/alpha.png", .body(try TestImage.bytes("alpha.png")))
        let avif = #"[{"name":"avif","keySuffix":"avif","format":"avif"}]"#
        let made = try await manager.load(try harness.request("/alpha.png", variants: avif))
        let stored = try #require(made.stored.last)
        try #require(stored.format == "avif")
        harness.origin.on("/alpha.avif", .body(try #require(harness.stored(stored.key))))
        let report = try await manager.load(try harness.request("/alpha.avif"))
        #expect(report.stored.last?.format == "png")
    }
}
