import DiskCache
import Downloader
import Foundation
import ImageModel
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// The parts and hooks that a program can replace.
@Suite(.timeLimit(.minutes(5)))
struct ManagerConfigurationTests {
    private let harness: ManagerHarness

    init() throws {
        harness = try ManagerHarness()
        harness.origin.on("/a.jpg", .body(harness.image))
    }

    private var url: String { harness.origin.url("/a.jpg") }

    @Test func `shouldDownload false on a miss gives an empty report without error or request`() async throws {
        let manager = try harness.manager { $0.shouldDownload = { _ in false } }
        let report = try await manager.load(try harness.request())
        #expect(report.stored.isEmpty)
        #expect(report.failure == nil)
        #expect(harness.origin.requests.isEmpty)
    }

    @Test func `shouldDownload is called on hits and does not change them`() async throws {
        _ = try await harness.manager().load(try harness.request())
        let calls = CallCount()
        let manager = try harness.manager {
            $0.shouldDownload = { _ in
                calls.add()
                return false
            }
        }
        #expect(try await manager.load(try harness.request()).stored.count == 2)
        #expect(calls.value == 1)
    }

    @Test func `shouldDownload is called once when the cached original does not decode`() async throws {
        let path = harness.cache.layout.path(of: CacheKey(url))
        try Data(harness.image.prefix(harness.image.count / 2)).write(to: URL(filePath: path))
        let calls = CallCount()
        let manager = try harness.manager {
            $0.shouldDownload = { _ in
                calls.add()
                return true
            }
        }
        #expect(try await manager.load(try harness.request()).downloads == 1)
        #expect(calls.value == 1)
    }

    @Test func `a URL without a source gives an empty report and no error`() async throws {
        let files = try FileSource(directories: [])
        let manager = try harness.manager { $0.sources = [files] }
        #expect(try await manager.load(try harness.request()).stored.isEmpty)
    }

    @Test func `the last source has precedence`() async throws {
        let other = try TestImage.bytes("rgb.png")
        let manager = try harness.manager { $0.sources.append(FixedSource(bytes: other)) }
        _ = try await manager.load(try harness.request())
        #expect(harness.stored(url) == other)
        #expect(harness.origin.requests.isEmpty)
    }

    @Test func `the options processor is called once and determines keys, variants and scale (test11)`() async throws {
        let calls = CallCount()
        let manager = try harness.manager { [url] configuration in
            configuration.optionsProcessor = { request in
                calls.add()
                var request = request
                request.url = url
                request.context.scale = 3
                request.variants.removeLast()
                return request
            }
        }
        let variants =
            #"[{"name":"half","transform":[{"type":"resize","width":20,"height":10}]},{"name":"b","keySuffix":"b"}]"#
        let report = try await manager.load(try harness.request("/b.jpg", [], variants: variants))
        #expect(report.stored.map(\.name) == [nil, "half"])
        #expect(report.stored.first?.key == url)
        #expect(calls.value == 1)
        #expect([report.stored.last?.width, report.stored.last?.height] == [60, 30])
    }

    @Test func `the key filter's result is the key of the original and the base of every variant's key`() async throws {
        harness.origin.on("/a.jpg?sig=1", .body(harness.image))
        harness.origin.on("/a.jpg?sig=2", .body(harness.image))
        let manager = try harness.manager { $0.keyFilter.own = CacheKeyFilters.withoutQuery }
        #expect(try await manager.load(try harness.request("/a.jpg?sig=1")).downloads == 1)
        #expect(try await manager.load(try harness.request("/a.jpg?sig=2")).downloads == 0)
        #expect(harness.stored(url) == harness.image)
        #expect(harness.storedHalf(url) != nil)
    }

    @Test func `a key filter that returns nil turns the cache off`() async throws {
        let manager = try harness.manager { $0.keyFilter.own = { _ in nil } }
        let report = try await manager.load(try harness.request())
        #expect(report.downloads == 1)
        #expect(report.stored.isEmpty)
        #expect(report.failure == nil)
        #expect(harness.stored(url) == nil)
    }

    @Test func `the serializer is called once for each key, and its result is stored`() async throws {
        let calls = CallCount()
        let manager = try harness.manager { configuration in
            configuration.serializer.own = { bytes, _ in
                calls.add()
                return bytes + Data("!".utf8)
            }
        }
        harness.origin.on("/b.jpg", .body(harness.image))
        _ = try await manager.load(try harness.request("/b.jpg", [], variants: "[]"))
        #expect(calls.value == 1)
        let report = try await manager.load(try harness.request())
        #expect(calls.value == 3)
        #expect(harness.stored(url) == harness.image + [UInt8(ascii: "!")])
        #expect(harness.storedHalf(url)?.last == UInt8(ascii: "!"))
        #expect(report.stored.first?.bytes == harness.image.count + 1)
        #expect(try await manager.load(try harness.request("/a.jpg", [], variants: "[]")).downloads == 0)
        #expect(calls.value == 3)
    }

    @Test func `a serializer that returns nil leaves the bytes unchanged`() async throws {
        let manager = try harness.manager { $0.serializer.own = { _, _ in nil } }
        _ = try await manager.load(try harness.request())
        #expect(harness.stored(url) == harness.image)
    }

    @Test func `the base64 decryptor decodes the body and skips other characters`() async throws {
        let text = Data(harness.image).base64EncodedString(options: .lineLength76Characters)
        harness.origin.on("/b.jpg", .body(Array(" \n\(text)".utf8)))
        var request = try harness.request("/b.jpg")
        request.context.decryptor = .named("base64")
        let report = try await harness.manager().load(request)
        #expect(report.made == 1)
        #expect(harness.stored(harness.origin.url("/b.jpg")) == harness.image)
    }

    @Test func `a custom decryptor turns other bytes into an image (test25)`() async throws {
        harness.origin.on("/b.jpg", .body(harness.image.map { $0 ^ 0x5a }))
        let manager = try harness.manager { $0.decryptor.own = { bytes, _ in Data(bytes.map { $0 ^ 0x5a }) } }
        #expect(try await manager.load(try harness.request("/b.jpg")).made == 1)
        #expect(harness.stored(harness.origin.url("/b.jpg")) == harness.image)
    }

    @Test func `a decryptor that returns nil fails the load with 1001 and stores nothing`() async throws {
        let manager = try harness.manager { $0.decryptor.own = { _, _ in nil } }
        #expect(await failure(of: try harness.request(), by: manager)?.code == 1001)
        #expect(harness.stored(url) == nil)
    }

    @Test
    func `URL and headers of the request modifier are sent, the key stays; nil from it is error 2000 (test23)`()
        async throws
    {
        let manager = try harness.manager { [url] configuration in
            configuration.requestModifier.own = { request in
                var request = request
                request.url = url
                request.headers["X-Larder"] = "yes"
                return request
            }
        }
        _ = try await manager.load(try harness.request("/elsewhere.jpg"))
        #expect(harness.origin.requests.first?.headers["x-larder"] == "yes")
        #expect(harness.stored(harness.origin.url("/elsewhere.jpg")) == harness.image)
        let none = try harness.manager { $0.requestModifier.own = { _ in nil } }
        let error = await failure(of: try harness.request("/other.jpg"), by: none)
        #expect(error?.code == 2000)
        #expect(error?.domain == "SDWebImageErrorDomain")
    }

    @Test func `a response modifier can turn a 404 into a success; nil from it is error 2003`() async throws {
        harness.origin.on("/odd.jpg", .body(harness.image, status: 404))
        var request = try harness.request("/odd.jpg")
        request.context.responseModifier = .described(ResponseChange(status: 200))
        #expect(try await harness.manager().load(request).made == 1)
        let none = try harness.manager { $0.responseModifier.own = { _ in nil } }
        #expect(await failure(of: try harness.request(), by: none)?.code == 2003)
    }

    @Test func `originals and variants can be stored in different caches`() async throws {
        let originals = try DirectoryStore(opening: harness.directory.path + "/originals")
        let manager = try harness.manager { $0.caches = ["originals": originals] }
        var request = try harness.request()
        request.context.originalCache = .named("originals")
        _ = try await manager.load(request)
        #expect(harness.stored(url, in: originals) == harness.image)
        #expect(harness.stored(url) == nil)
        #expect(harness.storedHalf(url) != nil)
        #expect(harness.storedHalf(url, in: originals) == nil)
    }

    @Test func `the error names a part that is not configured`() async throws {
        var request = try harness.request()
        request.context.keyFilter = .named("mine")
        let error = await failure(of: request, by: try harness.manager())
        #expect(error?.domain == "LarderErrorDomain")
        #expect(error?.code == 105)
        #expect(error?.message.contains("cacheKeyFilter 'mine'") == true)
    }

    @Test func `cancelAll ends running loads with 2002`() async throws {
        harness.origin.on("/slow.jpg", .silent)
        let manager = try harness.manager()
        let request = try harness.request("/slow.jpg")
        async let load = { (await failure(of: request, by: manager), Task.isCancelled) }()
        await harness.origin.waitForRequests("/slow.jpg")
        #expect(manager.isRunning)
        manager.cancelAll()
        let (error, isCallerCancelled) = await load
        #expect(error?.code == 2002)
        #expect(!isCallerCancelled)
        #expect(!manager.isRunning)
    }

    @Test func `progress reports received and expected bytes`() async throws {
        let reported = PrefetchLog()
        var request = try harness.request()
        request.progress = { received, expected in reported.add("\(received)/\(expected ?? -1)") }
        _ = try await harness.manager().load(request)
        let size = harness.image.count
        #expect(reported.all.first == "0/\(size)")
        #expect(reported.all.last == "\(size)/\(size)")
    }
}
