import DiskCache
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// What is looked up and written in which case (spec 2.5 to 2.11 of SDWebImage 5.21.5).
@Suite("ImageManager, queries and stores", .timeLimit(.minutes(5)))
struct StoreFlowTests {
    private let scene: ManagerScene
    private let manager: ImageManager

    init() throws {
        scene = try ManagerScene()
        manager = try scene.manager()
        scene.origin.on("/a.jpg", .body(scene.picture))
    }

    private var url: String { scene.origin.url("/a.jpg") }

    @Test("FromCacheOnly: a miss is no error, a hit is answered, a missing variant is made of a cached original")
    func fromCacheOnly() async throws {
        #expect(try await manager.load(try scene.request("/a.jpg", .fromCacheOnly)).stored.isEmpty)
        _ = try await manager.load(try scene.request("/a.jpg", [], variants: "[]"))
        let report = try await manager.load(try scene.request("/a.jpg", .fromCacheOnly))
        #expect(report.made == 1 && scene.origin.count("/a.jpg") == 1)
    }

    @Test("FromLoaderOnly: the cache is not asked, and stored into all the same")
    func fromLoaderOnly() async throws {
        _ = try await manager.load(try scene.request())
        let report = try await manager.load(try scene.request("/a.jpg", .fromLoaderOnly))
        #expect(report.downloads == 1 && report.made == 1 && scene.origin.count("/a.jpg") == 2)
        #expect(scene.stored(url) == scene.picture)
    }

    @Test("FromCacheOnly with FromLoaderOnly: no picture, no error")
    func neither() async throws {
        _ = try await manager.load(try scene.request())
        let report = try await manager.load(try scene.request("/a.jpg", [.fromCacheOnly, .fromLoaderOnly]))
        #expect(report.stored.isEmpty && report.failure == nil && scene.origin.count("/a.jpg") == 1)
    }

    @Test("a transformed key's hit writes nothing and needs no original")
    func fullKeyHit() async throws {
        _ = try await manager.load(try scene.request())
        try scene.cache.remove(CacheKey(url))
        let report = try await manager.load(try scene.request())
        #expect(report.downloads == 0 && report.stored.map(\.name) == ["half"] && report.made == 0)
        #expect(scene.stored(url) == nil)
    }

    @Test("a transformer on a cached original writes only the transformed key")
    func originalHit() async throws {
        _ = try await manager.load(try scene.request("/a.jpg", [], variants: "[]"))
        let before = try scene.cache.modification(of: url)
        let report = try await manager.load(try scene.request())
        #expect(report.stored.map(\.origin) == [.cached, .transcoded])
        #expect(try scene.cache.modification(of: url) == before)
    }

    @Test("a thumbnail of the context: original under its key, the thumbnail under its own")
    func contextThumbnail() async throws {
        var request = LoadRequest(url: url)
        request.context = try LoadContext(json: #"{"imageThumbnailPixelSize":{"width":16,"height":16}}"#.utf8)
        let report = try await manager.load(request)
        let key = try #require(CacheKey(url).appending("Thumbnail({16.000000,16.000000},1)"))
        #expect(report.stored.map(\.key) == [url, key.text])
        #expect(scene.stored(key.text) != nil)
    }

    @Test("a thumbnail and a transformer of the context make one key")
    func contextThumbnailAndTransformer() async throws {
        var request = LoadRequest(url: url)
        request.context = try LoadContext(
            json: """
                {"imageThumbnailPixelSize":{"width":16,"height":16},
                 "imageTransformer":[{"type":"resize","width":8,"height":4}]}
                """.utf8)
        let report = try await manager.load(request)
        let key = try #require(
            CacheKey(url).appending("Thumbnail({16.000000,16.000000},1)")?
                .appending("SDImageResizingTransformer({8.000000,4.000000},0)"))
        #expect(report.stored.last?.key == key.text && report.made == 1)
    }

    @Test("an animated picture without TransformAnimatedImage: its bytes under both keys")
    func animated() async throws {
        let animation = try Picture.bytes("animated.gif")
        scene.origin.on("/b.gif", .body(animation))
        let report = try await manager.load(try scene.request("/b.gif"))
        #expect(report.stored.map(\.origin) == [.downloaded, .copied])
        #expect(scene.storedHalf(scene.origin.url("/b.gif")) == animation)
    }

    @Test(
        "with TransformAnimatedImage, or DecodeFirstFrameOnly, the variant shows the first frame",
        arguments: [LoadOptions.transformAnimatedImage, .decodeFirstFrameOnly])
    func animatedTransformed(option: LoadOptions) async throws {
        scene.origin.on("/b.gif", .body(try Picture.bytes("animated.gif")))
        let report = try await manager.load(try scene.request("/b.gif", option))
        #expect(report.stored.last?.origin == .transcoded)
        #expect(scene.stored(scene.origin.url("/b.gif")) == (try Picture.bytes("animated.gif")))
    }

    @Test(
        "storeCacheType and originalStoreCacheType say what is written",
        arguments: [(0, 1), (3, 0), (2, 2), (1, 3)])
    func storeTypes(store: Int, original: Int) async throws {
        var request = try scene.request()
        request.context = try LoadContext(
            json: #"{"storeCacheType":\#(store),"originalStoreCacheType":\#(original)}"#.utf8)
        let report = try await manager.load(request)
        let writesVariant = store == 1 || store == 3
        let writesOriginal = original == 1 || original == 3
        #expect((scene.storedHalf(url) != nil) == writesVariant)
        #expect((scene.stored(url) != nil) == writesOriginal)
        #expect(report.stored.map(\.name) == (writesOriginal ? [nil] : []) + (writesVariant ? ["half"] : []))
    }

    @Test("queryCacheType none does not look for variants, originalQueryCacheType none not for the original")
    func queryTypes() async throws {
        _ = try await manager.load(try scene.request())
        var request = try scene.request()
        request.context.query = .none
        #expect(try await manager.load(request).made == 1)
        request.context.originalQuery = .none
        #expect(try await manager.load(request).downloads == 1)
    }

    @Test("a cached file that is no picture is a miss")
    func cachedRubbish() async throws {
        try Data("rubbish".utf8).write(to: URL(filePath: scene.cache.layout.path(of: CacheKey(url))))
        let report = try await manager.load(try scene.request("/a.jpg", [], variants: "[]"))
        #expect(report.downloads == 1 && scene.stored(url) == scene.picture)
    }

    @Test(
        "a declared size over the limit ends the download with 202 or 203",
        arguments: [(8000, 8000, 202), (20000, 10, 203)])
    func declaredSize(width: Int, height: Int, code: Int) async throws {
        var png = try Picture.bytes("rgb.png")
        for (offset, value) in [(16, width), (20, height)] {
            for byte in 0..<4 { png[offset + byte] = UInt8(truncatingIfNeeded: value >> (24 - 8 * byte)) }
        }
        let gate = OriginGate()
        let head = OriginReply.head(200, [("Content-Length", "1000000")])
        scene.origin.on("/big.png", OriginReply([.bytes(head + png.prefix(64)), .wait(gate)]))
        let error = await failure(of: try scene.request("/big.png"), by: manager)
        gate.openUp()
        #expect(error?.domain == "LarderErrorDomain" && error?.code == code)
    }

    @Test("imageScaleDownLimitBytes bounds what is decoded; the key stays")
    func scaleDown() async throws {
        let plain = #"[{"name":"plain","keySuffix":"plain","format":"png"}]"#
        var request = try scene.request(variants: plain)
        request.context = try LoadContext(json: #"{"imageScaleDownLimitBytes":400}"#.utf8)
        let small = try #require(try await manager.load(request).stored.last)
        #expect((small.width ?? 0) * (small.height ?? 0) * 4 <= 400 && (small.width ?? 0) > 0)
        #expect(small.key == CacheKey(url).appending("plain")?.text)
        let whole = try #require(
            try await manager.load(
                try scene.request("/a.jpg", [.fromLoaderOnly, .scaleDownLargeImages], variants: plain)
            )
            .stored.last)
        #expect((whole.width ?? 0) > (small.width ?? 0))
    }

    @Test("what a picture looks like is kept with its original")
    func digest() async throws {
        let stored = try await manager.load(try scene.request()).stored
        let digest = try #require(stored.first?.digest)
        #expect(digest.perceptualHash.count == 16 && !digest.thumbHash.isEmpty && digest.frames == 1)
        #expect(digest.averageColor.count == 9 && digest.dominantColor.hasPrefix("#ff") && !digest.hasAlpha)
        #expect(stored.last?.digest == nil)
    }

    @Test("the scale of the context replaces the key's")
    func scale() async throws {
        var request = try scene.request()
        request.context.scale = 2
        let report = try await manager.load(request)
        #expect([report.stored.last?.width, report.stored.last?.height] == [40, 20])
    }
}

extension DirectoryStore {
    /// When the file of a key was written.
    fileprivate func modification(of key: String) throws -> Date? {
        try FileManager.default.attributesOfItem(atPath: layout.path(of: CacheKey(key)))[.modificationDate] as? Date
    }
}
