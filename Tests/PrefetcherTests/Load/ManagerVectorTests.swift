import DiskCache
import Downloader
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// The rows of SDWebImage 5.21.5's manager and downloader that no other suite has by name; docs/sdwebimage.md tells which
/// row is where.
@Suite("The manager's vectors", .timeLimit(.minutes(5)))
struct ManagerVectorTests {
    private let scene: ManagerScene

    init() throws {
        scene = try ManagerScene()
        scene.origin.on("/a.jpg", .body(scene.picture))
    }

    private var url: String { scene.origin.url("/a.jpg") }

    /// A source that has one picture for every URL.
    private struct Fixed: ImageSource {
        let bytes: [UInt8]
        func canLoad(_ url: String) -> Bool { true }
        func load(
                _ request: FetchRequest, options: LoadOptions, into file: Int32
            ) async throws(LoadError) -> FetchResponse {
            write(file, bytes, bytes.count)
            return FetchResponse(bytes: bytes.count, sha256: Array(repeating: 7, count: 32))
        }
    }

    /// A picture of this size, made by the transcoder, at `path` of the origin.
    private func serve(_ side: Int, _ format: String, at path: String) async throws {
        let variants = #"""
            [{"name":"large","format":"\#(format)","transform":[{"type":"resize","width":\#(side),"height":\#(side)}]}]
            """#
        let report = try await scene.manager().load(try scene.request("/a.jpg", [], variants: variants))
        let large = try #require(report.stored.last)
        #expect([large.width, large.height] == [side, side])
        scene.origin.on(path, .body(try #require(scene.stored(large.key))))
    }

    private func context(_ json: String, for path: String = "/a.jpg") throws -> LoadRequest {
        var request = LoadRequest(url: scene.origin.url(path))
        request.context = try LoadContext(json: json.utf8)
        return request
    }

    // MARK: - Names and numbers

    @Test("the downloader's options are the manager's by name, but for the two that RefreshCached stands for")
    func downloaderOptions() throws {
        let known = try ManagerVectors.read().enums.downloaderOptions
        #expect(known.count == 13)
        let own = known.keys.filter { LoadOptions(named: $0) == nil }.sorted()
        #expect(own == ["IgnoreCachedResponse", "UseNSURLCache"])
        #expect(LoadOptions(named: "RefreshCached") != nil)
    }

    @Test("the cache's options are the manager's by name, and its types are numbered alike")
    func cacheOptions() throws {
        let enums = try ManagerVectors.read().enums
        #expect(enums.cacheOptions.count == 8)
        for name in enums.cacheOptions.keys { #expect(LoadOptions(named: name) != nil, "\(name)") }
        let types: [LoadContext.CacheType] = [.none, .disk, .memory, .all]
        for (name, number) in enums.cacheTypes {
            #expect(types.first { "\($0)" == name.lowercased() }?.rawValue == number, "\(name)")
        }
        #expect(enums.cacheTypes.count == 4)
    }

    @Test("every error code of SDWebImage's is one of Larder's")
    func errorCodes() throws {
        let downloads = FetchError.Code.allCases.map { FetchError($0, "") }
            .filter { $0.domain == "SDWebImageErrorDomain" }.map(\.domainCode)
        let own = downloads + [LoadError.blocked("x").failure.code]
        let known = try ManagerVectors.read().enums.errorCodes.keys.compactMap { Int($0) }
        #expect(Set(own) == Set(known) && own.count == known.count)
    }

    // MARK: - What upstream's tests assert

    @Test("a load runs right after the call and no more when it has answered (test02)")
    func running() async throws {
        let gate = OriginGate()
        scene.origin.on("/slow.jpg", OriginReply([.wait(gate)] + OriginReply.body(scene.picture).steps))
        let manager = try scene.manager()
        async let load = manager.load(try scene.request("/slow.jpg"))
        await scene.origin.waitForRequests("/slow.jpg")
        #expect(manager.isRunning)
        gate.openUp()
        #expect(try await load.failure == nil)
        #expect(!manager.isRunning)
    }

    @Test("under a filtered key; in memory alone nothing is kept of a variant (test09)")
    func filteredKey() async throws {
        let manager = try scene.manager { $0.keyFilter.own = { _ in "filtered" } }
        var request = try scene.request()
        request.context.store = .memory
        let report = try await manager.load(request)
        #expect(report.stored.map(\.key) == ["filtered"] && report.stored.first?.origin == .downloaded)
        #expect(scene.stored("filtered") == scene.picture && scene.storedHalf("filtered") == nil)
    }

    @Test("the options processor is called once, and its scale is what a variant is made by (test11)")
    func processedScale() async throws {
        let calls = CallCount()
        let manager = try scene.manager { parts in
            parts.optionsProcessor = { request in
                calls.add()
                var request = request
                request.context.scale = 3
                return request
            }
        }
        let report = try await manager.load(try scene.request())
        #expect([report.stored.last?.width, report.stored.last?.height] == [60, 30] && calls.value == 1)
    }

    @Test("a PNG of 2000 × 2000 becomes 1000 × 1000 by a limit of 4,000,000 bytes (test13)")
    func scaledDown() async throws {
        try await serve(2000, "png", at: "/large.png")
        var request = try scene.request("/large.png", [], variants: #"[{"name":"p","keySuffix":"p"}]"#)
        request.context = try LoadContext(json: #"{"imageScaleDownLimitBytes":4000000}"#.utf8)
        let report = try await scene.manager().load(request)
        #expect([report.stored.last?.width, report.stored.last?.height] == [1000, 1000])
    }

    @Test("cache and loader of the context are used, and the file is there when the load returns (test14)")
    func ownCacheAndLoader() async throws {
        try await serve(100, "jpeg", at: "/100.jpg")
        let bytes = try await download("/100.jpg")
        let other = try DirectoryStore(opening: scene.directory.path + "/other")
        let manager = try scene.manager {
            $0.caches = ["other": other]
            $0.namedSources = ["fixed": Fixed(bytes: bytes)]
        }
        var request = LoadRequest(url: "https://nobody.example/100.jpg")
        request.context.cache = .named("other")
        request.context.source = .named("fixed")
        let report = try await manager.load(request)
        #expect([report.stored.first?.width, report.stored.first?.height] == [100, 100])
        #expect(scene.stored(request.url, in: other) == bytes && scene.stored(request.url) == nil)
    }

    private func download(_ path: String) async throws -> [UInt8] {
        let file = BodyFile()
        _ = try await ImageDownloader(for: scene.origin).fetch(scene.origin.url(path), into: file)
        return file.bytes
    }

    @Test("a thumbnail wanted in memory alone leaves no file, and its original does (test17)")
    func thumbnailInMemory() async throws {
        let thumbnail = #"{"imageThumbnailPixelSize":{"width":10,"height":10},"storeCacheType":2}"#
        let report = try await scene.manager().load(try context(thumbnail))
        #expect(report.stored.map(\.key) == [url])
        let key = try #require(CacheKey(url).appending("Thumbnail({10.000000,10.000000},1)"))
        #expect(scene.stored(url) == scene.picture && scene.stored(key.text) == nil)
    }

    @Test("a thumbnail of a stored original leaves its bytes as they are, and lies under its own key (test21)")
    func thumbnailOfStored() async throws {
        let manager = try scene.manager()
        _ = try await manager.load(LoadRequest(url: url))
        let report = try await manager.load(
            try context(#"{"imageThumbnailPixelSize":{"width":10,"height":10}}"#))
        #expect(report.stored.map(\.origin) == [.cached, .transcoded] && report.downloads == 0)
        #expect(scene.stored(url) == scene.picture)
        let thumbnail = try #require(report.stored.last)
        #expect(thumbnail.width == 10 && scene.stored(thumbnail.key) != nil)
    }

    @Test("a serializer without a variant is asked once; with a thumbnail once for each key")
    func serializerCalls() async throws {
        let calls = CallCount()
        let manager = try scene.manager { parts in
            parts.serializer.own = { bytes, _ in
                calls.add()
                return bytes
            }
        }
        _ = try await manager.load(LoadRequest(url: url))
        #expect(calls.value == 1)
        scene.origin.on("/b.jpg", .body(scene.picture))
        _ = try await manager.load(
            try context(#"{"imageThumbnailPixelSize":{"width":10,"height":10}}"#, for: "/b.jpg"))
        #expect(calls.value == 3)
    }

    @Test("ten loads of one URL at once, each with a thumbnail of its own, each get their own size (test30)")
    func tenThumbnails() async throws {
        try await serve(1000, "jpeg", at: "/large.jpg")
        let manager = try scene.manager()
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

    @Test("a decryptor of one's own makes a picture of what is none (test25)")
    func ownDecryptor() async throws {
        scene.origin.on("/b.jpg", .body(scene.picture.map { $0 ^ 0x5a }))
        let manager = try scene.manager { $0.decryptor.own = { bytes, _ in Data(bytes.map { $0 ^ 0x5a }) } }
        #expect(try await manager.load(try scene.request("/b.jpg")).made == 1)
        #expect(scene.stored(scene.origin.url("/b.jpg")) == scene.picture)
    }

    @Test("a request modifier's other URL is what is fetched; the key stays the first one's (test23)")
    func modifiedURL() async throws {
        let place = url
        let manager = try scene.manager { parts in
            parts.requestModifier.own = { request in
                var request = request
                request.url = place
                return request
            }
        }
        #expect(try await manager.load(try scene.request("/elsewhere.jpg")).failure == nil)
        #expect(scene.stored(scene.origin.url("/elsewhere.jpg")) == scene.picture)
    }
}
