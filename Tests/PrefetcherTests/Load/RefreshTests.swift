import DiskCache
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// The option RefreshCached: ask the server, although all is cached.
@Suite("ImageManager, RefreshCached", .timeLimit(.minutes(5)))
struct RefreshTests {
    private let scene: ManagerScene
    private let manager: ImageManager
    private let other: [UInt8]

    init() throws {
        scene = try ManagerScene()
        manager = try scene.manager()
        other = try Picture.bytes("rgb.png")
    }

    private var url: String { scene.origin.url("/a.jpg") }

    @Test("304 leaves everything as it is, and the request carried what was known")
    func notModified() async throws {
        scene.origin.on(
            "/a.jpg", .body(scene.picture, [("ETag", "\"v1\""), ("Last-Modified", "Sat, 21 Nov 2026 10:00:00 GMT")]),
            .status(304))
        _ = try await manager.load(try scene.request())
        let report = try await manager.load(try scene.request("/a.jpg", .refreshCached))
        #expect(report.isUnchanged && report.downloads == 0 && report.failure == nil)
        #expect(report.stored.map(\.origin) == [.cached, .cached])
        let second = try #require(scene.origin.requests.last)
        #expect(second.headers["if-none-match"] == "\"v1\"")
        #expect(second.headers["if-modified-since"] == "Sat, 21 Nov 2026 10:00:00 GMT")
    }

    @Test("the same bytes again count as unchanged, and no variant is made anew")
    func sameBytes() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        _ = try await manager.load(try scene.request())
        let report = try await manager.load(try scene.request("/a.jpg", .refreshCached))
        #expect(report.isUnchanged && report.made == 0)
        #expect(report.downloads == 1 && scene.origin.count("/a.jpg") == 2)
    }

    @Test("other bytes replace the original and every variant wanted")
    func changed() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture), .body(other))
        _ = try await manager.load(try scene.request())
        let before = scene.storedHalf(url)
        let report = try await manager.load(try scene.request("/a.jpg", .refreshCached))
        #expect(!report.isUnchanged && report.made == 1 && report.downloads == 1)
        #expect(scene.stored(url) == other)
        #expect(scene.storedHalf(url) != nil && scene.storedHalf(url) != before)
    }

    @Test("a variant that was never made is made of the unchanged original")
    func missingVariant() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture, [("ETag", "\"v1\"")]), .status(304))
        _ = try await manager.load(try scene.request("/a.jpg", [], variants: "[]"))
        let report = try await manager.load(try scene.request("/a.jpg", .refreshCached))
        #expect(report.isUnchanged && report.made == 1 && report.stored.count == 2)
    }

    @Test("an original that another program stored is compared by its bytes")
    func foreignOriginal() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        try Data(scene.picture).write(to: URL(filePath: scene.cache.layout.path(of: CacheKey(url))))
        let report = try await manager.load(try scene.request("/a.jpg", .refreshCached))
        #expect(report.isUnchanged && report.made == 1)
        #expect(scene.origin.requests.first?.headers["if-none-match"] == nil)
    }

    @Test("a server that fails is the load's failure; what is cached stays")
    func serverFails() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture), .status(500))
        _ = try await manager.load(try scene.request())
        #expect(await failure(of: try scene.request("/a.jpg", .refreshCached), by: manager)?.code == 2001)
        #expect(scene.stored(url) == scene.picture)
    }

    @Test("nothing cached is an ordinary download; FromCacheOnly asks nobody")
    func nothingCached() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        let report = try await manager.load(try scene.request("/a.jpg", [.refreshCached, .fromCacheOnly]))
        #expect(report.stored.isEmpty && scene.origin.requests.isEmpty)
        #expect(try await manager.load(try scene.request("/a.jpg", .refreshCached)).made == 1)
    }

    @Test("an unchanged original that does not decode is fetched anew")
    func damaged() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture, [("ETag", "\"v1\"")]), .status(304), .body(scene.picture))
        _ = try await manager.load(try scene.request("/a.jpg", [], variants: "[]"))
        let path = scene.cache.layout.path(of: CacheKey(url))
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.truncate(atOffset: UInt64(scene.picture.count / 2))
        let report = try await manager.load(try scene.request("/a.jpg", .refreshCached))
        #expect(report.made == 1 && scene.stored(url) == scene.picture)
    }
}
