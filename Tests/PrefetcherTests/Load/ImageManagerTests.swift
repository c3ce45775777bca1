import DiskCache
import Downloader
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// The job's path on real parts: a real server, a real cache, real transcoders; only the database is left out.
@Suite("ImageManager", .timeLimit(.minutes(5)))
struct ImageManagerTests {
    private let directory: TemporaryDirectory
    private let origin: OriginServer
    private let cache: DirectoryStore
    private let manager: ImageManager
    private let transcoders: TranscoderPool

    init() throws {
        directory = try TemporaryDirectory()
        origin = try OriginServer()
        cache = try DirectoryStore(opening: directory.path)
        var configuration = TranscoderPool.Configuration()
        configuration.count = 1
        configuration.executable = Products.larder
        transcoders = TranscoderPool(configuration: configuration)
        let policy = AddressPolicy(
            allowedAddresses: [try #require(CIDR("127.0.0.0/8"))], allowedPorts: [origin.port])
        manager = ImageManager(
            cache: cache, transcoders: transcoders,
            parts: ManagerParts(sources: [ImageDownloader(FetchConfiguration(policy: policy))]))
    }

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

    @Test("stores the original byte for byte and every variant under SDWebImage's names")
    func stores() async throws {
        let picture = try Picture.bytes("plain.jpg")
        origin.on("/a.jpg", .body(picture))
        let url = origin.url("/a.jpg")
        let report = try await manager.load(try request(url))

        #expect(report.failure == nil)
        #expect(report.downloads == 1)
        #expect(report.bytesIn == picture.count)
        #expect(report.made == 3)
        let key = CacheKey(url)
        #expect(try Data(contentsOf: URL(filePath: cache.layout.path(of: key))) == Data(picture))
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

    @Test("a second load asks nobody")
    func cached() async throws {
        origin.on("/a.jpg", .body(try Picture.bytes("plain.jpg")))
        _ = try await manager.load(try request(origin.url("/a.jpg")))
        let again = try await manager.load(try request(origin.url("/a.jpg")))
        #expect(again.downloads == 0)
        #expect(again.made == 0)
        #expect(again.stored.map(\.origin) == [.cached, .cached, .cached, .cached])
        #expect(origin.count("/a.jpg") == 1)
    }

    @Test("a new variant of a stored original is made without a download")
    func newVariant() async throws {
        origin.on("/a.jpg", .body(try Picture.bytes("plain.jpg")))
        let url = origin.url("/a.jpg")
        _ = try await manager.load(try request(url, "[]"))
        let report = try await manager.load(try request(url))
        #expect(report.downloads == 0)
        #expect(report.made == 3)
        #expect(origin.count("/a.jpg") == 1)
    }

    @Test("a stored original that does not decode is fetched again and overwritten")
    func damagedOriginal() async throws {
        let picture = try Picture.bytes("plain.jpg")
        origin.on("/a.jpg", .body(picture))
        let url = origin.url("/a.jpg")
        let path = cache.layout.path(of: CacheKey(url))
        try Data("no picture".utf8).write(to: URL(filePath: path))
        let report = try await manager.load(try request(url))
        #expect(report.downloads == 1)
        #expect(report.failure == nil)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data(picture))
    }

    @Test("one bad variant fails alone; the original and the others stay")
    func badVariant() async throws {
        origin.on("/a.jpg", .body(try Picture.bytes("plain.jpg")))
        let json = #"""
            [{"name":"outside","transform":[{"type":"crop","x":5000,"y":5000,"width":5,"height":5}]},
             {"name":"good","transform":[{"type":"resize","width":5,"height":5}]}]
            """#
        let report = try await manager.load(try request(origin.url("/a.jpg"), json))
        let failure = try #require(report.failure)
        #expect(failure.domain == "LarderErrorDomain" && failure.code == 401)
        #expect(failure.message.contains("outside"))
        #expect(report.stored.map { $0.path != nil } == [true, false, true])
        // The failed variant's temporary file goes with its last holder, perhaps a moment later.
        #expect(try names.filter { !$0.hasPrefix(".") }.count == 2)
    }

    @Test("what is no picture fails with 1001 and leaves nothing")
    func notAnImage() async throws {
        origin.on("/a.jpg", .body(Array("<html>not found</html>".utf8)))
        let error = try await failure(of: try request(origin.url("/a.jpg")))
        #expect(error.failure.domain == "SDWebImageErrorDomain")
        #expect(error.failure.code == 1001)
        #expect(try names == [])
    }

    @Test("a body that looks like a picture and does not decode fails with 1001 and leaves nothing")
    func undecodable() async throws {
        let picture = try Picture.bytes("plain.jpg")
        origin.on("/a.jpg", .body(Array(picture.prefix(picture.count / 2))))
        let error = try await failure(of: try request(origin.url("/a.jpg")))
        #expect(error.failure.code == 1001)
        #expect(error.stage == .transcode)
        #expect(try names == [])
    }

    @Test("without variants the picture must still decode")
    func originalAlone() async throws {
        let picture = try Picture.bytes("plain.jpg")
        origin.on("/good.jpg", .body(picture))
        origin.on("/bad.jpg", .body(Array(picture.prefix(picture.count / 2))))
        let report = try await manager.load(try request(origin.url("/good.jpg"), "[]"))
        #expect(report.stored.count == 1)
        let error = try await failure(of: try request(origin.url("/bad.jpg"), "[]"))
        #expect(error.failure.code == 1001)
        #expect(try names.count == 1)
    }

    @Test("a worker that lost its lease publishes nothing")
    func lostLease() async throws {
        origin.on("/a.jpg", .body(try Picture.bytes("plain.jpg")))
        var request = try request(origin.url("/a.jpg"))
        request.mayPublish = { false }
        let error = try await failure(of: request)
        #expect(error.isCancellation == true)
        #expect(try names == [])
    }
}
