import DiskCache
import Foundation
import ImageModel
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

@Suite(.timeLimit(.minutes(5)))
struct RefreshTests {
    private let harness: ManagerHarness
    private let manager: ImageManager
    private let other: [UInt8]

    init() throws {
        harness = try ManagerHarness()
        manager = try harness.manager()
        other = try TestImage.bytes("rgb.png")
    }

    private var url: String { harness.origin.url("/a.jpg") }

    @Test func `304 keeps the cached files, and the request carries the saved validators`() async throws {
        harness.origin.on(
            "/a.jpg", .body(harness.image, [("ETag", "\"v1\""), ("Last-Modified", "Sat, 21 Nov 2026 10:00:00 GMT")]),
            .status(304))
        _ = try await manager.load(try harness.request())
        let report = try await manager.load(try harness.request("/a.jpg", .refreshCached))
        #expect(report.isUnchanged)
        #expect(report.downloads == 0)
        #expect(report.failure == nil)
        #expect(report.stored.map(\.origin) == [.cached, .cached])
        let second = try #require(harness.origin.requests.last)
        #expect(second.headers["if-none-match"] == "\"v1\"")
        #expect(second.headers["if-modified-since"] == "Sat, 21 Nov 2026 10:00:00 GMT")
    }

    @Test func `the same bytes count as unchanged and remake no variant`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        _ = try await manager.load(try harness.request())
        let report = try await manager.load(try harness.request("/a.jpg", .refreshCached))
        #expect(report.isUnchanged)
        #expect(report.made == 0)
        #expect(report.downloads == 1)
        #expect(harness.origin.count("/a.jpg") == 2)
    }

    @Test func `changed bytes replace the original and every wanted variant`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image), .body(other))
        _ = try await manager.load(try harness.request())
        let before = harness.storedHalf(url)
        let report = try await manager.load(try harness.request("/a.jpg", .refreshCached))
        #expect(!report.isUnchanged)
        #expect(report.made == 1)
        #expect(report.downloads == 1)
        #expect(harness.stored(url) == other)
        #expect(harness.storedHalf(url) != nil)
        #expect(harness.storedHalf(url) != before)
    }

    @Test func `a missing variant is made of the unchanged original`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image, [("ETag", "\"v1\"")]), .status(304))
        _ = try await manager.load(try harness.request("/a.jpg", [], variants: "[]"))
        let report = try await manager.load(try harness.request("/a.jpg", .refreshCached))
        #expect(report.isUnchanged)
        #expect(report.made == 1)
        #expect(report.stored.count == 2)
    }

    @Test func `an original stored by another program is compared by its digest`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        try Data(harness.image).write(to: URL(filePath: harness.cache.layout.path(of: CacheKey(url))))
        let report = try await manager.load(try harness.request("/a.jpg", .refreshCached))
        #expect(report.isUnchanged)
        #expect(report.made == 1)
        #expect(harness.origin.requests.first?.headers["if-none-match"] == nil)
    }

    @Test func `a failing server fails the load and keeps the cached files`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image), .status(500))
        _ = try await manager.load(try harness.request())
        #expect(await failure(of: try harness.request("/a.jpg", .refreshCached), by: manager)?.code == 2001)
        #expect(harness.stored(url) == harness.image)
    }

    @Test func `an empty cache causes a plain download; with FromCacheOnly no request is sent`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        let report = try await manager.load(try harness.request("/a.jpg", [.refreshCached, .fromCacheOnly]))
        #expect(report.stored.isEmpty)
        #expect(harness.origin.requests.isEmpty)
        #expect(try await manager.load(try harness.request("/a.jpg", .refreshCached)).made == 1)
    }

    @Test func `an unchanged original that does not decode is downloaded again`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image, [("ETag", "\"v1\"")]), .status(304), .body(harness.image))
        _ = try await manager.load(try harness.request("/a.jpg", [], variants: "[]"))
        let path = harness.cache.layout.path(of: CacheKey(url))
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.truncate(atOffset: UInt64(harness.image.count / 2))
        let report = try await manager.load(try harness.request("/a.jpg", .refreshCached))
        #expect(report.made == 1)
        #expect(harness.stored(url) == harness.image)
    }
}
