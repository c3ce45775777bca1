import DiskCache
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// A manager with a cache in memory before that on the disk (spec 2.5, 2.11 and 8 of SDWebImage 5.21.5).
@Suite("ImageManager, with a cache in memory", .timeLimit(.minutes(5)))
struct MemoryTierTests {
    private let scene: ManagerScene
    private let memory = MemoryCache<Data>()
    private let manager: ImageManager

    init() throws {
        scene = try ManagerScene()
        let memory = memory
        manager = try scene.manager { $0.memory = memory }
        scene.origin.on("/a.jpg", .body(scene.picture))
    }

    private var url: String { scene.origin.url("/a.jpg") }
    private var halfKey: CacheKey { get throws { try #require(CacheKey(url).appending(ManagerScene.halfKey)) } }

    private func request(_ context: String = "{}", variants: String = ManagerScene.half) throws -> LoadRequest {
        var request = try scene.request(variants: variants)
        request.context = try LoadContext(json: context.utf8)
        return request
    }

    @Test("what is stored is remembered, and then the disk is not asked")
    func storesAreRemembered() async throws {
        _ = try await manager.load(try request())
        #expect(memory.value(for: try halfKey).map(Array.init) == scene.storedHalf(url))
        #expect(!memory.contains(CacheKey(url)), "the original is for the disk unless it is asked for")
        try scene.cache.remove(CacheKey(url))
        try scene.cache.remove(try halfKey)
        let report = try await manager.load(try request())
        #expect(report.downloads == 0 && report.stored.map(\.origin) == [.cached] && report.stored.map(\.path) == [nil])
        #expect(report.stored.first?.bytes == memory.value(for: try halfKey)?.count)
        #expect(scene.storedHalf(url) == nil && scene.origin.count("/a.jpg") == 1)
    }

    @Test("a load without variants remembers its original")
    func plainLoad() async throws {
        _ = try await manager.load(try request(variants: "[]"))
        #expect(memory.value(for: CacheKey(url)).map(Array.init) == scene.picture)
        try scene.cache.remove(CacheKey(url))
        #expect(try await manager.load(try request(variants: "[]")).downloads == 0)
    }

    @Test("memory is asked first, the disk then, and what the disk has is remembered")
    func diskHitsAreRemembered() async throws {
        _ = try await manager.load(try request())
        memory.removeAll()
        let report = try await manager.load(try request())
        #expect(report.downloads == 0 && report.made == 0 && report.stored.last?.path != nil)
        #expect(memory.value(for: try halfKey).map(Array.init) == scene.storedHalf(url))
    }

    @Test("a variant that is in neither is made, whatever memory has of the others")
    func partly() async throws {
        _ = try await manager.load(try request())
        let two =
            ManagerScene.half.dropLast() + #",{"name":"flat","transform":[{"type":"resize","width":9,"height":3}]}]"#
        let report = try await manager.load(try request(variants: String(two)))
        #expect(report.made == 1 && report.downloads == 0 && report.stored.count == 3)
    }

    // Row test49SDImageCacheQueryOp of the vectors.
    @Test("storeCacheType disk keeps a disk hit out of memory")
    func diskOnly() async throws {
        _ = try await manager.load(try request(#"{"storeCacheType":1}"#))
        _ = try await manager.load(try request(#"{"storeCacheType":1}"#))
        #expect(memory.count == 0 && scene.storedHalf(url) != nil)
    }

    @Test("storeCacheType memory writes no file, none remembers nothing", arguments: [2, 0])
    func memoryOnly(type: Int) async throws {
        let report = try await manager.load(try request(#"{"storeCacheType":\#(type)}"#))
        #expect(scene.storedHalf(url) == nil && scene.stored(url) == scene.picture)
        #expect(memory.contains(try halfKey) == (type == 2))
        #expect(report.stored.map(\.name) == (type == 2 ? [nil, "half"] : [nil]))
        #expect(report.stored.last?.name == nil || report.stored.last?.path == nil)
    }

    @Test("originalStoreCacheType says where the original goes", arguments: [0, 1, 2, 3])
    func originals(type: Int) async throws {
        _ = try await manager.load(try request(#"{"originalStoreCacheType":\#(type)}"#))
        #expect(memory.contains(CacheKey(url)) == (type & 2 != 0))
        #expect((scene.stored(url) != nil) == (type & 1 != 0))
    }

    @Test("queryCacheType disk, FromLoaderOnly and RefreshCached pass memory by")
    func passedBy() async throws {
        _ = try await manager.load(try request())
        try scene.cache.remove(CacheKey(url))
        try scene.cache.remove(try halfKey)
        #expect(try await manager.load(try request(#"{"queryCacheType":1}"#)).downloads == 1)
        for option in [LoadOptions.fromLoaderOnly, .refreshCached] {
            #expect(try await manager.load(try scene.request("/a.jpg", option)).stored.last?.path != nil)
        }
        #expect(scene.origin.count("/a.jpg") == 4)
    }

    @Test("FromCacheOnly is answered from memory, and the hook is asked all the same")
    func fromCacheOnly() async throws {
        _ = try await manager.load(try request())
        try scene.cache.remove(CacheKey(url))
        try scene.cache.remove(try halfKey)
        let asked = CallCount()
        let memory = memory
        let other = try scene.manager { parts in
            parts.memory = memory
            parts.shouldDownload = { _ in
                asked.add()
                return false
            }
        }
        #expect(try await other.load(try scene.request("/a.jpg", .fromCacheOnly)).stored.count == 1)
        #expect(asked.value == 1)
    }

    // Row test42StoreCacheWithImageAndFormatWithoutImageData of the vectors.
    @Test(
        "a variant keeps its source's format: JPEG for JPEG, PNG for what cannot be written and has alpha, an animation whole",
        arguments: [
            ("plain.jpg", "jpeg"), ("still.avif", "jpeg"), ("alpha.png", "png"), ("animated.gif", "gif"),
            ("animated.png", "png"),
        ])
    func formats(picture: String, format: String) async throws {
        let bytes = try Picture.bytes(picture)
        scene.origin.on("/\(picture)", .body(bytes))
        let report = try await manager.load(try scene.request("/\(picture)"))
        let stored = try #require(report.stored.last)
        #expect(stored.format == format)
        if picture.hasPrefix("animated") {
            #expect(stored.origin == .copied && scene.storedHalf(scene.origin.url("/\(picture)")) == bytes)
        }
    }

    @Test("what has no format known to SDWebImage, and alpha, becomes a PNG")
    func undefinedWithAlpha() async throws {
        scene.origin.on("/alpha.png", .body(try Picture.bytes("alpha.png")))
        let avif = #"[{"name":"avif","keySuffix":"avif","format":"avif"}]"#
        let made = try await manager.load(try scene.request("/alpha.png", variants: avif))
        let stored = try #require(made.stored.last)
        try #require(stored.format == "avif")
        scene.origin.on("/alpha.avif", .body(try #require(scene.stored(stored.key))))
        let report = try await manager.load(try scene.request("/alpha.avif"))
        #expect(report.stored.last?.format == "png")
    }
}
