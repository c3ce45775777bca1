import DiskCache
import Downloader
import Foundation
import ImageModel
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// Loads with a real server, cache and transcoder.
@Suite(.timeLimit(.minutes(5)))
struct ImageManagerTests {
    private let harness: ManagerHarness
    private let manager: ImageManager

    init() throws {
        harness = try ManagerHarness()
        manager = try harness.manager()
    }

    private var origin: OriginServer { harness.origin }
    private var cache: DirectoryStore { harness.cache }

    private static let variants = #"""
        [{"name":"half","transform":[{"type":"resize","width":20,"height":10}]},
         {"name":"corner","transform":[{"type":"crop","x":0,"y":0,"width":8,"height":8}],"format":"webp"},
         {"name":"thumb","thumbnail":{"width":16,"height":16}}]
        """#

    private func request(_ url: String, _ json: String = variants) throws -> LoadRequest {
        let pipeline = try Pipeline(json: #"{"name":"test","variants":\#(json)}"#.utf8)
        return LoadRequest(url: url, variants: pipeline.variants)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: cache.layout.directory).sorted() }
    }

    /// The error of a load that must fail.
    private func failure(of request: LoadRequest) async throws -> LoadError {
        do throws(LoadError) {
            _ = try await manager.load(request)
        } catch {
            return error
        }
        throw UnexpectedSuccess()
    }

    private struct UnexpectedSuccess: Error {}

    @Test func `a load stores the original's bytes and every variant under SDWebImage's names`() async throws {
        let image = try TestImage.bytes("plain.jpg")
        origin.on("/a.jpg", .body(image))
        let url = origin.url("/a.jpg")
        let report = try await manager.load(try request(url))

        #expect(report.failure == nil)
        #expect(report.downloads == 1)
        #expect(report.bytesIn == image.count)
        #expect(report.made == 3)
        let key = CacheKey(url)
        #expect(try Data(contentsOf: URL(filePath: cache.layout.path(of: key))) == Data(image))
        let half = try #require(key.appending("SDImageResizingTransformer({20.000000,10.000000},0)"))
        let expected = [
            key, half, try #require(key.appending("SDImageCroppingTransformer({0.000000,0.000000,8.000000,8.000000})")),
            try #require(key.appending("Thumbnail({16.000000,16.000000},1)")),
        ]
        #expect(try names == expected.map(SDWebImageNaming().fileName).sorted())
        #expect(report.stored.map(\.key) == expected.map(\.text))
        let stored = try #require(report.stored.first { $0.name == "half" })
        #expect([stored.width, stored.height] == [20, 10])
        #expect(stored.format == "jpeg")
        #expect(report.stored.first { $0.name == "corner" }?.format == "webp")
    }

    @Test func `a second load sends no request`() async throws {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        _ = try await manager.load(try request(origin.url("/a.jpg")))
        let again = try await manager.load(try request(origin.url("/a.jpg")))
        #expect(again.downloads == 0)
        #expect(again.made == 0)
        #expect(again.stored.map(\.origin) == [.cached, .cached, .cached, .cached])
        #expect(origin.count("/a.jpg") == 1)
    }

    @Test func `a new variant of a cached original is made without a download`() async throws {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        let url = origin.url("/a.jpg")
        _ = try await manager.load(try request(url, "[]"))
        let report = try await manager.load(try request(url))
        #expect(report.downloads == 0)
        #expect(report.made == 3)
        #expect(origin.count("/a.jpg") == 1)
    }

    @Test func `a cached original that does not decode is downloaded again and replaced`() async throws {
        let image = try TestImage.bytes("plain.jpg")
        origin.on("/a.jpg", .body(image))
        let url = origin.url("/a.jpg")
        let path = cache.layout.path(of: CacheKey(url))
        try Data("no image".utf8).write(to: URL(filePath: path))
        let report = try await manager.load(try request(url))
        #expect(report.downloads == 1)
        #expect(report.failure == nil)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data(image))
    }

    @Test func `a failed variant leaves the original and the other variants stored`() async throws {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        let json = #"""
            [{"name":"outside","transform":[{"type":"crop","x":5000,"y":5000,"width":5,"height":5}]},
             {"name":"good","transform":[{"type":"resize","width":5,"height":5}]}]
            """#
        let report = try await manager.load(try request(origin.url("/a.jpg"), json))
        let failure = try #require(report.failure)
        #expect(failure.domain == "LarderErrorDomain")
        #expect(failure.code == 401)
        #expect(failure.message.contains("outside"))
        #expect(report.stored.map { $0.path != nil } == [true, false, true])
        // The failed variant's temporary file may be removed a moment later.
        #expect(try names.filter { !$0.hasPrefix(".") }.count == 2)
    }

    @Test func `a body that is not an image fails with 1001 and stores nothing`() async throws {
        origin.on("/a.jpg", .body(Array("<html>not found</html>".utf8)))
        let error = try await failure(of: try request(origin.url("/a.jpg")))
        #expect(error.failure.domain == "SDWebImageErrorDomain")
        #expect(error.failure.code == 1001)
        #expect(try names == [])
    }

    @Test
    func `a body with an image's signature that does not decode fails with 1001 and stores nothing`() async throws {
        let image = try TestImage.bytes("plain.jpg")
        origin.on("/a.jpg", .body(Array(image.prefix(image.count / 2))))
        let error = try await failure(of: try request(origin.url("/a.jpg")))
        #expect(error.failure.code == 1001)
        #expect(error.stage == .transcode)
        #expect(try names == [])
    }

    @Test func `an original without variants must decode, too`() async throws {
        let image = try TestImage.bytes("plain.jpg")
        origin.on("/good.jpg", .body(image))
        origin.on("/bad.jpg", .body(Array(image.prefix(image.count / 2))))
        let report = try await manager.load(try request(origin.url("/good.jpg"), "[]"))
        #expect(report.stored.count == 1)
        let error = try await failure(of: try request(origin.url("/bad.jpg"), "[]"))
        #expect(error.failure.code == 1001)
        #expect(try names.count == 1)
    }

    @Test func `a worker without a lease publishes nothing`() async throws {
        origin.on("/a.jpg", .body(try TestImage.bytes("plain.jpg")))
        var request = try request(origin.url("/a.jpg"))
        request.mayPublish = { false }
        let error = try await failure(of: request)
        #expect(error.isCancellation == true)
        #expect(try names == [])
    }
}
