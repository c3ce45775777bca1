import DiskCache
import Foundation
import ImageModel
import TestSupport
import Testing

@testable import Prefetcher

/// The cache types of a load. Line numbers refer to SDWebImage 5.21.5.
@Suite(.timeLimit(.minutes(5)))
struct CacheTypeTests {
    private let harness: ManagerHarness
    private let memory = MemoryCache<Data>()
    private let worker: ImageManager
    private let library: ImageManager

    init() throws {
        harness = try ManagerHarness()
        let memory = memory
        worker = try harness.manager()
        library = try harness.manager { $0.memory = memory }
        harness.origin.on("/a.jpg", .body(harness.image))
    }

    private var url: String { harness.origin.url("/a.jpg") }
    private var halfKey: CacheKey { get throws { try #require(CacheKey(url).appending(ManagerHarness.halfKey)) } }
    private static let flat = #"[{"name":"flat","transform":[{"type":"resize","width":9,"height":3}]}]"#

    private func request(_ context: String = "{}", variants: String = "[]") throws -> LoadRequest {
        var request = try harness.request(variants: variants)
        request.context = try LoadContext(json: context.utf8)
        return request
    }

    // SDWebImageManager.m 614–635: the result is stored under its key, here the original's, with storeCacheType.
    @Test(arguments: [#"{"originalStoreCacheType":0}"#, #"{"originalStoreCacheType":2}"#, #"{"storeCacheType":1}"#])
    func `a load without variants is stored where storeCacheType says`(context: String) async throws {
        let report = try await worker.load(try request(context))
        #expect(harness.stored(url) == harness.image)
        #expect(report.stored.map(\.origin) == [.downloaded])
    }

    // SDWebImageDefine.h 364–365 and 378–379: storeCacheType applies to the original when no transformer is used,
    // originalStoreCacheType when one is. SDWebImageManager.m 566–592 nevertheless writes the file.
    @Test(arguments: [0, 2])
    func `a load without variants writes no file when storeCacheType excludes the disk`(type: Int) async throws {
        let report = try await library.load(try request(#"{"storeCacheType":\#(type)}"#))
        #expect(report.downloads == 1)
        #expect(harness.stored(url) == nil)
        #expect(memory.contains(CacheKey(url)) == (type == 2))
    }

    // SDWebImageManager.m 295–311: queryCacheType. 319–327: the original is queried only if its key is another one.
    @Test func `a load without variants is looked up where queryCacheType says`() async throws {
        _ = try await worker.load(try request())
        #expect(try await worker.load(try request(#"{"originalQueryCacheType":0}"#)).downloads == 0)
        #expect(try await worker.load(try request(#"{"queryCacheType":1}"#)).downloads == 0)
        #expect(try await worker.load(try request(#"{"queryCacheType":0}"#)).downloads == 1)
        #expect(try await worker.load(try request(#"{"queryCacheType":0,"originalQueryCacheType":3}"#)).downloads == 1)
    }

    // SDWebImageManager.m 290–293 and 610–613: the result's cache is imageCache.
    @Test func `a load without variants uses imageCache and not originalImageCache`() async throws {
        let originals = try DirectoryStore(opening: harness.directory.path + "/originals")
        let manager = try harness.manager { $0.caches = ["originals": originals] }
        for _ in 1...2 { _ = try await manager.load(try request(#"{"originalImageCache":"originals"}"#)) }
        #expect(harness.stored(url) == harness.image)
        #expect(harness.stored(url, in: originals) == nil)
        #expect(harness.origin.count("/a.jpg") == 1)
    }

    // SDWebImageManager.m 357–363 and 566–569: the original's own types, where its key is another one.
    @Test func `with a variant originalQueryCacheType and originalStoreCacheType apply to the original`() async throws {
        let half = ManagerHarness.half
        _ = try await worker.load(try request(#"{"originalStoreCacheType":0}"#, variants: half))
        #expect(harness.stored(url) == nil)
        #expect(harness.storedHalf(url) != nil)
        _ = try await worker.load(try request(#"{"storeCacheType":0}"#))
        let flat = try await worker.load(try request(variants: Self.flat))
        #expect(flat.downloads == 1)
        #expect(harness.stored(url) == harness.image)
        let context = #"{"queryCacheType":0,"originalQueryCacheType":0}"#
        #expect(try await worker.load(try request(context, variants: half)).downloads == 1)
    }

    // SDWebImageManager.m 304–329: the query does not depend on storeCacheType.
    @Test func `a stored variant is found with storeCacheType none`() async throws {
        let half = ManagerHarness.half
        _ = try await worker.load(try request(variants: half))
        try harness.cache.remove(CacheKey(url))
        for type in [0, 2] {
            let report = try await worker.load(try request(#"{"storeCacheType":\#(type)}"#, variants: half))
            #expect(report.downloads == 0)
            #expect(report.stored.map(\.origin) == [.cached])
        }
        let two = String(half.dropLast()) + "," + Self.flat.dropFirst()
        let report = try await worker.load(try request(#"{"storeCacheType":0}"#, variants: two))
        #expect(report.downloads == 1, "the other one needs the original")
        #expect(report.made == 0, "the other one needs the original")
    }

    // SDImageCache.m 626–629: the memory is queried unless the type is Disk. SDWebImageManager.m 382: then the
    // original is transformed.
    @Test(arguments: [2, 3])
    func `an original in memory only is transformed without a download`(query: Int) async throws {
        _ = try await library.load(try request(#"{"storeCacheType":2}"#))
        #expect(harness.stored(url) == nil)
        #expect(memory.contains(CacheKey(url)))
        let context = #"{"originalQueryCacheType":\#(query),"originalStoreCacheType":2}"#
        let report = try await library.load(try request(context, variants: ManagerHarness.half))
        #expect(report.downloads == 0)
        #expect(report.stored.map(\.origin) == [.cached, .transcoded])
        #expect(report.stored.first?.path == nil)
        #expect(report.stored.first?.bytes == harness.image.count)
        #expect(harness.storedHalf(url) != nil)
        #expect(harness.stored(url) == nil)
    }

    // SDWebImageManager.m 357: the original's query type is Disk by default.
    @Test func `an original in memory only is not found by default`() async throws {
        _ = try await library.load(try request(#"{"storeCacheType":2}"#))
        #expect(try await library.load(try request(variants: ManagerHarness.half)).downloads == 1)
    }

    // SDWebImageManager.m 572–577: the disk is left out of the type only for an original from the disk.
    @Test func `an original found in memory is written where originalStoreCacheType has the disk`() async throws {
        _ = try await library.load(try request(#"{"storeCacheType":2}"#))
        let half = ManagerHarness.half
        let report = try await library.load(try request(#"{"originalQueryCacheType":3}"#, variants: half))
        #expect(report.downloads == 0)
        #expect(report.stored.first?.path != nil)
        #expect(harness.stored(url) == harness.image)
    }

    @Test func `an original in memory that does not decode is downloaded`() async throws {
        memory.store(Data(harness.image.prefix(harness.image.count / 2)), for: CacheKey(url))
        let context = #"{"originalQueryCacheType":3,"originalStoreCacheType":3}"#
        let report = try await library.load(try request(context, variants: ManagerHarness.half))
        #expect(report.downloads == 1)
        #expect(report.made == 1)
        #expect(memory.value(for: CacheKey(url)).map(Array.init) == harness.image)
    }

    // SDImageCache.m 624–629: each key is queried in memory by itself.
    @Test func `a variant in memory is found when another one is missing`() async throws {
        _ = try await library.load(try request(#"{"storeCacheType":2}"#, variants: ManagerHarness.half))
        let two = String(ManagerHarness.half.dropLast()) + "," + Self.flat.dropFirst()
        let report = try await library.load(try request(variants: two))
        #expect(report.stored.map(\.origin) == [.cached, .cached, .transcoded])
        #expect(report.downloads == 0)
        #expect(harness.storedHalf(url) == nil)
    }

    // SDImageCache.m 692–711: storeCacheType decides whether an image found on the disk goes into memory, in the query
    // of the original, too. 541–560: an image decoded at a thumbnail size is kept under the thumbnail's key.
    @Test(arguments: [(3, true), (1, false)])
    func `an original found on the disk for a transformer goes into memory where storeCacheType has it`(
        type: Int, isRemembered: Bool
    ) async throws {
        _ = try await worker.load(try request())
        let thumbnail = #"{"imageThumbnailPixelSize":{"width":8,"height":8}}"#
        _ = try await library.load(try request(thumbnail))
        #expect(!memory.contains(CacheKey(url)))
        let context = #"{"storeCacheType":\#(type)}"#
        #expect(try await library.load(try request(context, variants: ManagerHarness.half)).downloads == 0)
        #expect(memory.contains(CacheKey(url)) == isRemembered)
    }

    // SDWebImageManager.m 502–505 and 739–775: a processor's context without a transformer is loaded without one.
    // SDWebImage keeps the key of its manager's transformer; here key and action come from one request.
    @Test func `an options processor that drops the variants makes a load without variants`() async throws {
        let manager = try harness.manager { $0.optionsProcessor = { LoadRequest(url: $0.url) } }
        let context = #"{"imageTransformer":[{"type":"resize","width":20,"height":10}],"originalStoreCacheType":0}"#
        let report = try await manager.load(try request(context))
        #expect(report.stored.map(\.key) == [url])
        #expect(harness.stored(url) == harness.image)
        #expect(harness.storedHalf(url) == nil)
        #expect(try await manager.load(try request(context)).downloads == 0)
    }

    // SDWebImageManager.m 739–775: the processor returns options and context; the rest of the load stays.
    @Test func `an options processor that returns a new request changes neither progress nor the right to publish`()
        async throws
    {
        let manager = try harness.manager { $0.optionsProcessor = { LoadRequest(url: $0.url) } }
        let calls = CallCount()
        var request = try request()
        request.progress = { _, _ in calls.add() }
        request.mayPublish = { false }
        #expect(await failure(of: request, by: manager)?.code == 2002)
        #expect(harness.stored(url) == nil)
        #expect(calls.value > 0)
    }
}
