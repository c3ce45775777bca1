import DiskCache
import Downloader
import Foundation
import ImageModel
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// Vectors of SDWebImage 5.21.5's manager and downloader that no other suite has;
/// Tests/SDWebImage.md lists the suite of each.
@Suite(.timeLimit(.minutes(5)))
struct ManagerVectorTests {
    private let harness: ManagerHarness

    init() throws {
        harness = try ManagerHarness()
        harness.origin.on("/a.jpg", .body(harness.image))
    }

    private var url: String { harness.origin.url("/a.jpg") }

    /// Serves an image of this size, made by the transcoder, at `path`.
    private func serve(_ side: Int, _ format: String, at path: String) async throws {
        let variants = #"""
            [{"name":"large","format":"\#(format)","transform":[{"type":"resize","width":\#(side),"height":\#(side)}]}]
            """#
        let report = try await harness.manager().load(try harness.request("/a.jpg", [], variants: variants))
        let large = try #require(report.stored.last)
        #expect([large.width, large.height] == [side, side])
        harness.origin.on(path, .body(try #require(harness.stored(large.key))))
    }

    private func context(_ json: String, for path: String = "/a.jpg") throws -> LoadRequest {
        var request = LoadRequest(url: harness.origin.url(path))
        request.context = try LoadContext(json: json.utf8)
        return request
    }

    // MARK: - Names and numbers

    @Test func `the downloader's options have the manager's names, except two that RefreshCached replaces`() throws {
        let known = try ManagerVectors.read().enums.downloaderOptions
        #expect(known.count == 13)
        let own = known.keys.filter { LoadOptions(named: $0) == nil }.sorted()
        #expect(own == ["IgnoreCachedResponse", "UseNSURLCache"])
        #expect(LoadOptions(named: "RefreshCached") != nil)
    }

    @Test func `the cache's options have the manager's names, and cache types have the same numbers`() throws {
        let enums = try ManagerVectors.read().enums
        #expect(enums.cacheOptions.count == 8)
        for name in enums.cacheOptions.keys { #expect(LoadOptions(named: name) != nil, "\(name)") }
        let types: [String: LoadContext.CacheType] = ["None": .none, "Disk": .disk, "Memory": .memory, "All": .all]
        for (name, number) in enums.cacheTypes { #expect(types[name]?.rawValue == number, "\(name)") }
        #expect(enums.cacheTypes.count == 4)
    }

    @Test func `Larder has every error code of SDWebImage`() throws {
        let downloads = FetchError.Code.allCases.map { FetchError($0, "") }
            .filter { $0.domain == "SDWebImageErrorDomain" }.map(\.domainCode)
        let own = downloads + [LoadError.blocked("x").failure.code]
        let known = try ManagerVectors.read().enums.errorCodes.keys.compactMap { Int($0) }
        #expect(Set(own) == Set(known))
        #expect(own.count == known.count)
    }

    // MARK: - Assertions of SDWebImage's tests

    @Test func `isRunning is true from the call until the load returns (test02)`() async throws {
        let gate = OriginGate()
        harness.origin.on("/slow.jpg", OriginReply([.wait(gate)] + OriginReply.body(harness.image).steps))
        let manager = try harness.manager()
        async let load = manager.load(try harness.request("/slow.jpg"))
        await harness.origin.waitForRequests("/slow.jpg")
        #expect(manager.isRunning)
        gate.openUp()
        #expect(try await load.failure == nil)
        #expect(!manager.isRunning)
    }

    @Test
    func
        `the original is stored under the filtered key; a variant for memory only is not made without a memory cache (test09)`()
        async throws
    {
        let manager = try harness.manager { $0.keyFilter.own = { _ in "filtered" } }
        var request = try harness.request()
        request.context.store = .memory
        let report = try await manager.load(request)
        #expect(report.stored.map(\.key) == ["filtered"])
        #expect(report.stored.first?.origin == .downloaded)
        #expect(harness.stored("filtered") == harness.image)
        #expect(harness.storedHalf("filtered") == nil)
    }

    @Test func `a limit of 4,000,000 bytes scales a 2000 × 2000 PNG down to 1000 × 1000 (test13)`() async throws {
        try await serve(2000, "png", at: "/large.png")
        var request = try harness.request("/large.png", [], variants: #"[{"name":"p","keySuffix":"p"}]"#)
        request.context = try LoadContext(json: #"{"imageScaleDownLimitBytes":4000000}"#.utf8)
        let report = try await harness.manager().load(request)
        #expect([report.stored.last?.width, report.stored.last?.height] == [1000, 1000])
    }

    @Test
    func `the context's cache and loader are used, and the file is stored when the load returns (test14)`() async throws
    {
        try await serve(100, "jpeg", at: "/100.jpg")
        let bytes = try await download("/100.jpg")
        let other = try DirectoryStore(opening: harness.directory.path + "/other")
        let manager = try harness.manager {
            $0.caches = ["other": other]
            $0.namedSources = ["fixed": FixedSource(bytes: bytes)]
        }
        var request = LoadRequest(url: "https://unreachable.example/100.jpg")
        request.context.cache = .named("other")
        request.context.source = .named("fixed")
        let report = try await manager.load(request)
        #expect([report.stored.first?.width, report.stored.first?.height] == [100, 100])
        #expect(harness.stored(request.url, in: other) == bytes)
        #expect(harness.stored(request.url) == nil)
    }

    private func download(_ path: String) async throws -> [UInt8] {
        let file = BodyFile()
        _ = try await ImageDownloader(for: harness.origin).fetch(harness.origin.url(path), into: file)
        return file.bytes
    }

    @Test func `a thumbnail stored in memory only leaves no file; its original does (test17)`() async throws {
        let thumbnail = #"{"imageThumbnailPixelSize":{"width":10,"height":10},"storeCacheType":2}"#
        let report = try await harness.manager().load(try context(thumbnail))
        #expect(report.stored.map(\.key) == [url])
        let key = try #require(CacheKey(url).appending("Thumbnail({10.000000,10.000000},1)"))
        #expect(harness.stored(url) == harness.image)
        #expect(harness.stored(key.text) == nil)
    }

    @Test
    func `a thumbnail of a cached original is stored under its own key and keeps the original's bytes (test21)`()
        async throws
    {
        let manager = try harness.manager()
        _ = try await manager.load(LoadRequest(url: url))
        let report = try await manager.load(
            try context(#"{"imageThumbnailPixelSize":{"width":10,"height":10}}"#))
        #expect(report.stored.map(\.origin) == [.cached, .transcoded])
        #expect(report.downloads == 0)
        #expect(harness.stored(url) == harness.image)
        let thumbnail = try #require(report.stored.last)
        #expect(thumbnail.width == 10)
        #expect(harness.stored(thumbnail.key) != nil)
    }

    @Test
    func `ten concurrent loads of one URL with different thumbnail sizes each get their size (test30)`() async throws {
        try await serve(1000, "jpeg", at: "/large.jpg")
        let manager = try harness.manager()
        let sizes = try await withThrowingTaskGroup(of: (Int, Int?).self) { group in
            for side in 490...499 {
                let request = try context(
                    #"{"imageThumbnailPixelSize":{"width":\#(side),"height":\#(side)}}"#, for: "/large.jpg")
                group.addTask { (side, try await manager.load(request).stored.last?.width) }
            }
            return try await group.reduce(into: [Int: Int?]()) { $0[$1.0] = $1.1 }
        }
        for side in 490...499 { #expect(sizes[side] == side) }
    }
}
