import DiskCache
import Foundation
import ImageModel
import TestSupport
import TestTranscoder
import Testing
import Transcoder

@testable import Prefetcher

/// What a load looks up and writes (spec 2.5 to 2.11 of SDWebImage 5.21.5).
@Suite(.timeLimit(.minutes(5)))
struct StoreFlowTests {
    private let harness: ManagerHarness
    private let manager: ImageManager

    init() throws {
        harness = try ManagerHarness()
        manager = try harness.manager()
        harness.origin.on("/a.jpg", .body(harness.image))
    }

    private var url: String { harness.origin.url("/a.jpg") }

    @Test
    func `FromCacheOnly returns hits, makes missing variants of a cached original, and a miss is no error`()
        async throws
    {
        #expect(try await manager.load(try harness.request("/a.jpg", .fromCacheOnly)).stored.isEmpty)
        _ = try await manager.load(try harness.request("/a.jpg", [], variants: "[]"))
        let report = try await manager.load(try harness.request("/a.jpg", .fromCacheOnly))
        #expect(report.made == 1)
        #expect(harness.origin.count("/a.jpg") == 1)
    }

    @Test func `a variant whose name another image takes meanwhile fails alone`() async throws {
        let naming = TemplateNaming(try PathTemplate("{stem}[-{width}].{ext}"))
        let site = try DirectoryStore(opening: harness.directory.path + "/site", naming: naming)
        let manager = ImageManager(
            cache: site, transcoders: harness.transcoders, configuration: .init(sources: [try harness.web]))
        var request = try harness.request()
        let other = try #require(try naming.key(of: request.variants[0], from: CacheKey("https://other.example/a.jpg")))
        request.mayPublish = {
            try? site.store([1], as: other)
            return true
        }
        let report = try await manager.load(request)
        #expect(report.stored.map { $0.error?.failureCode } == [nil, .nameTaken])
        #expect(try site.contains(CacheKey(url)))
    }

    @Test func `FromLoaderOnly does not query the cache and does store`() async throws {
        _ = try await manager.load(try harness.request())
        let report = try await manager.load(try harness.request("/a.jpg", .fromLoaderOnly))
        #expect(report.downloads == 1)
        #expect(report.made == 1)
        #expect(harness.origin.count("/a.jpg") == 2)
        #expect(harness.stored(url) == harness.image)
    }

    @Test func `FromCacheOnly with FromLoaderOnly gives an empty report and no error`() async throws {
        _ = try await manager.load(try harness.request())
        let report = try await manager.load(try harness.request("/a.jpg", [.fromCacheOnly, .fromLoaderOnly]))
        #expect(report.stored.isEmpty)
        #expect(report.failure == nil)
        #expect(harness.origin.count("/a.jpg") == 1)
    }

    @Test func `a hit on a transformed key writes nothing and needs no original`() async throws {
        _ = try await manager.load(try harness.request())
        try harness.cache.remove(CacheKey(url))
        let report = try await manager.load(try harness.request())
        #expect(report.downloads == 0)
        #expect(report.stored.map(\.name) == ["half"])
        #expect(report.made == 0)
        #expect(harness.stored(url) == nil)
    }

    @Test func `a transformer on a cached original writes only the transformed key`() async throws {
        _ = try await manager.load(try harness.request("/a.jpg", [], variants: "[]"))
        let before = try harness.cache.modification(of: url)
        let report = try await manager.load(try harness.request())
        #expect(report.stored.map(\.origin) == [.cached, .transcoded])
        #expect(try harness.cache.modification(of: url) == before)
    }

    @Test func `the context's thumbnail is stored under its own key, next to the original`() async throws {
        var request = LoadRequest(url: url)
        request.context = try LoadContext(json: #"{"imageThumbnailPixelSize":{"width":16,"height":16}}"#.utf8)
        let report = try await manager.load(request)
        let key = try #require(CacheKey(url).appending("Thumbnail({16.000000,16.000000},1)"))
        #expect(report.stored.map(\.key) == [url, key.text])
        #expect(harness.stored(key.text) != nil)
    }

    @Test func `the context's thumbnail and transformer make one key`() async throws {
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
        #expect(report.stored.last?.key == key.text)
        #expect(report.made == 1)
    }

    @Test func `an animated image without TransformAnimatedImage has its bytes under both keys`() async throws {
        let animation = try TestImage.bytes("animated.gif")
        harness.origin.on("/b.gif", .body(animation))
        let report = try await manager.load(try harness.request("/b.gif"))
        #expect(report.stored.map(\.origin) == [.downloaded, .copied])
        #expect(harness.storedHalf(harness.origin.url("/b.gif")) == animation)
    }

    // SDImageCache.m 264–286 of SDWebImage 5.21.5: an image without data is encoded, one of the animated class is
    // stored as its data. SDImageCacheDefine.m 114–116: a class of UIImage alone is not one.
    @Test(arguments: [("null", false), (#""UIImage""#, false), (#""SDAnimatedImage""#, true)])
    func `animatedImageClass decides between the bytes and the frames of an animation's thumbnail`(
        name: String, keepsBytes: Bool
    ) async throws {
        let animation = try TestImage.bytes("animated.gif")
        harness.origin.on("/b.gif", .body(animation))
        var request = LoadRequest(url: harness.origin.url("/b.gif"))
        request.context = try LoadContext(
            json: #"{"imageThumbnailPixelSize":{"width":16,"height":16},"animatedImageClass":\#(name)}"#.utf8)
        let stored = try #require(try await manager.load(request).stored.last)
        #expect(stored.origin == (keepsBytes ? .copied : .transcoded) && stored.format == "gif")
        #expect((harness.stored(stored.key) == animation) == keepsBytes)
    }

    // SDImageCache.m 264–286 and SDImageIOAnimatedCoder.m, encodedDataWithFrames: of SDWebImage 5.21.5.
    @Test(arguments: [false, true])
    func `encodeFirstFrameOnly stores the first frame under the key of an animation's thumbnail`(
        isFirst: Bool
    ) async throws {
        harness.origin.on("/c.gif", .body(try TestImage.bytes("animated.gif")))
        var request = LoadRequest(url: harness.origin.url("/c.gif"))
        let size = #""imageThumbnailPixelSize":{"width":16,"height":16}"#
        request.context = try LoadContext(
            json: #"{\#(size),"imageEncodeOptions":{"encodeFirstFrameOnly":\#(isFirst)}}"#.utf8)
        let stored = try #require(try await manager.load(request).stored.last)
        let file = try #require(harness.stored(stored.key))
        #expect(stored.origin == .transcoded)
        #expect(stored.format == "gif")
        let frames = file.indices.filter { file[$0...].starts(with: [0x21, 0xF9, 0x04]) }
        #expect(isFirst ? frames.count <= 1 : frames.count == 3)
    }

    // SDWebImageManager.m 505 of SDWebImage 5.21.5.
    @Test(arguments: [(LoadOptions(), StoredFile.Origin.copied), (.transformVectorImage, .transcoded)])
    func `TransformVectorImage decides whether an SVG is transformed`(
        options: LoadOptions, origin: StoredFile.Origin
    ) async throws {
        let svg = #"<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60"><rect width="9" height="9"/></svg>"#
        harness.origin.on("/b.svg", .body(Array(svg.utf8)))
        var limits = TranscodeLimits()
        limits.formats.insert(.svg)
        let transcoders = DirectTranscoder(limits: limits)
        var configuration = ImageManager.Configuration(sources: [try harness.web])
        configuration.limits.formats.insert(.svg)
        let manager = ImageManager(cache: harness.cache, transcoders: transcoders, configuration: configuration)
        let report = try await manager.load(try harness.request("/b.svg", options))
        #expect(report.stored.last?.origin == origin)
        #expect((harness.storedHalf(harness.origin.url("/b.svg")) == Array(svg.utf8)) == (origin == .copied))
    }

    @Test(arguments: [LoadOptions.transformAnimatedImage, .decodeFirstFrameOnly])
    func `with TransformAnimatedImage or DecodeFirstFrameOnly the variant is made of the first frame`(
        option: LoadOptions
    ) async throws {
        harness.origin.on("/b.gif", .body(try TestImage.bytes("animated.gif")))
        let report = try await manager.load(try harness.request("/b.gif", option))
        #expect(report.stored.last?.origin == .transcoded)
        #expect(harness.stored(harness.origin.url("/b.gif")) == (try TestImage.bytes("animated.gif")))
    }

    @Test(arguments: [(0, 1), (3, 0), (2, 2), (1, 3)])
    func `storeCacheType and originalStoreCacheType select what is written`(store: Int, original: Int) async throws {
        var request = try harness.request()
        request.context = try LoadContext(
            json: #"{"storeCacheType":\#(store),"originalStoreCacheType":\#(original)}"#.utf8)
        let report = try await manager.load(request)
        let writesVariant = store == 1 || store == 3
        let writesOriginal = original == 1 || original == 3
        #expect((harness.storedHalf(url) != nil) == writesVariant)
        #expect((harness.stored(url) != nil) == writesOriginal)
        #expect(report.stored.map(\.name) == (writesOriginal ? [nil] : []) + (writesVariant ? ["half"] : []))
    }

    @Test func `queryCacheType none skips the variants, originalQueryCacheType none the original`() async throws {
        _ = try await manager.load(try harness.request())
        var request = try harness.request()
        request.context.query = .none
        #expect(try await manager.load(request).made == 1)
        request.context.originalQuery = .none
        #expect(try await manager.load(request).downloads == 1)
    }

    @Test func `a cached file that is not an image is a miss`() async throws {
        try Data("rubbish".utf8).write(to: URL(filePath: harness.cache.layout.path(of: CacheKey(url))))
        let report = try await manager.load(try harness.request("/a.jpg", [], variants: "[]"))
        #expect(report.downloads == 1)
        #expect(harness.stored(url) == harness.image)
    }

    @Test(arguments: [(8000, 8000, 202), (20000, 10, 203)])
    func `a declared size over the limit ends the download with 202 or 203`(width: Int, height: Int, code: Int)
        async throws
    {
        var png = try TestImage.bytes("rgb.png")
        for (offset, value) in [(16, width), (20, height)] {
            for byte in 0..<4 { png[offset + byte] = UInt8(truncatingIfNeeded: value >> (24 - 8 * byte)) }
        }
        let gate = OriginGate()
        let head = OriginReply.head(200, [("Content-Length", "1000000")])
        harness.origin.on("/big.png", OriginReply([.bytes(head + png.prefix(64)), .wait(gate)]))
        let error = await failure(of: try harness.request("/big.png"), by: manager)
        gate.openUp()
        #expect(error?.domain == "LarderErrorDomain")
        #expect(error?.code == code)
    }

    @Test func `imageScaleDownLimitBytes bounds the decoded size and does not change the key`() async throws {
        let plain = #"[{"name":"plain","keySuffix":"plain","format":"png"}]"#
        var request = try harness.request(variants: plain)
        request.context = try LoadContext(json: #"{"imageScaleDownLimitBytes":400}"#.utf8)
        let small = try #require(try await manager.load(request).stored.last)
        #expect((small.width ?? 0) * (small.height ?? 0) * 4 <= 400)
        #expect((small.width ?? 0) > 0)
        #expect(small.key == CacheKey(url).appending("plain")?.text)
        let whole = try #require(
            try await manager.load(
                try harness.request("/a.jpg", [.fromLoaderOnly, .scaleDownLargeImages], variants: plain)
            )
            .stored.last)
        #expect((whole.width ?? 0) > (small.width ?? 0))
    }

    // SDImageCacheDefine.m 26–30 and SDImageIOAnimatedCoder.m 684 of SDWebImage 5.21.5.
    @Test func `an imageScaleDownLimitBytes of 0 is no limit, also with ScaleDownLargeImages`() throws {
        func limit(_ context: String, _ options: LoadOptions) throws -> Int? {
            var request = try harness.request("/a.png", options)
            request.context = try LoadContext(json: context.utf8)
            return try LoadPlan(request, ImageManager.Configuration(sources: []), harness.cache).scaleDownLimit
        }
        #expect(try limit("{}", []) == nil)
        #expect(try limit("{}", .scaleDownLargeImages) == 60 << 20)
        #expect(try limit(#"{"imageScaleDownLimitBytes":0}"#, .scaleDownLargeImages) == nil)
        #expect(try limit(#"{"imageScaleDownLimitBytes":5000000000}"#, .scaleDownLargeImages) == 5_000_000_000)
    }

    @Test func `the digest is reported with the original`() async throws {
        let stored = try await manager.load(try harness.request()).stored
        let digest = try #require(stored.first?.digest)
        #expect(digest.perceptualHash.count == 16)
        #expect(!digest.thumbHash.isEmpty)
        #expect(digest.frames == 1)
        #expect(digest.averageColor.count == 9)
        #expect(digest.dominantColor.hasPrefix("#ff"))
        #expect(!digest.hasAlpha)
        #expect(stored.last?.digest == nil)
    }

    @Test func `the context's scale replaces the key's`() async throws {
        var request = try harness.request()
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
