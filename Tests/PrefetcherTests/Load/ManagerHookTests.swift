import DiskCache
import Downloader
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

/// What a program may put in place of the manager's own.
@Suite("ImageManager, parts and hooks", .timeLimit(.minutes(5)))
struct ManagerHookTests {
    private let scene: ManagerScene

    init() throws {
        scene = try ManagerScene()
        scene.origin.on("/a.jpg", .body(scene.picture))
    }

    private var url: String { scene.origin.url("/a.jpg") }

    @Test("a veto on a miss gives no picture and no error, and asks nobody")
    func veto() async throws {
        let manager = try scene.manager { $0.shouldDownload = { _ in false } }
        let report = try await manager.load(try scene.request())
        #expect(report.stored.isEmpty && report.failure == nil)
        #expect(scene.origin.requests.isEmpty)
    }

    @Test("a veto is asked for hits, too, and keeps none from being answered")
    func vetoOnHit() async throws {
        _ = try await scene.manager().load(try scene.request())
        let asked = CallCount()
        let manager = try scene.manager {
            $0.shouldDownload = { _ in
                asked.add()
                return false
            }
        }
        #expect(try await manager.load(try scene.request()).stored.count == 2)
        #expect(asked.value == 1)
    }

    @Test("a URL that no source knows is no picture and no error")
    func nobodyKnows() async throws {
        let manager = try scene.manager { $0.sources = [FileSource(roots: [])] }
        #expect(try await manager.load(try scene.request()).stored.isEmpty)
    }

    @Test("the source added last is asked first")
    func sourcesInOrder() async throws {
        struct Fixed: ImageSource {
            let bytes: [UInt8]
            func canLoad(_ url: String) -> Bool { url.hasSuffix(".jpg") }
            func load(
                _ request: FetchRequest, options: LoadOptions, into file: Int32
            ) async throws(LoadError) -> FetchResponse {
                write(file, bytes, bytes.count)
                return FetchResponse(bytes: bytes.count, sha256: Array(repeating: 7, count: 32))
            }
        }
        let other = try Picture.bytes("rgb.png")
        let manager = try scene.manager { $0.sources.append(Fixed(bytes: other)) }
        _ = try await manager.load(try scene.request())
        #expect(scene.stored(url) == other)
        #expect(scene.origin.requests.isEmpty)
    }

    @Test("the options processor's word counts for keys and for what is done")
    func optionsProcessor() async throws {
        let manager = try scene.manager { parts in
            parts.optionsProcessor = { request in
                var request = request
                request.context = LoadContext()
                request.variants = []
                return request
            }
        }
        let report = try await manager.load(try scene.request())
        #expect(report.stored.map(\.key) == [url])
    }

    @Test("a key filter's answer is the key of the original and of every variant")
    func keyFilter() async throws {
        scene.origin.on("/a.jpg?sig=1", .body(scene.picture))
        scene.origin.on("/a.jpg?sig=2", .body(scene.picture))
        let manager = try scene.manager { $0.keyFilter.own = CacheKeyFilters.withoutQuery }
        #expect(try await manager.load(try scene.request("/a.jpg?sig=1")).downloads == 1)
        #expect(try await manager.load(try scene.request("/a.jpg?sig=2")).downloads == 0)
        #expect(scene.stored(url) == scene.picture && scene.storedHalf(url) != nil)
    }

    @Test("a key filter that answers nil: a load without cache")
    func keyFilterNil() async throws {
        let manager = try scene.manager { $0.keyFilter.own = { _ in nil } }
        let report = try await manager.load(try scene.request())
        #expect(report.downloads == 1 && report.stored.isEmpty && report.failure == nil)
        #expect(scene.stored(url) == nil)
    }

    @Test("a serializer is asked once for each key, and its answer is what is stored")
    func serializer() async throws {
        let asked = CallCount()
        let manager = try scene.manager { parts in
            parts.serializer.own = { bytes, _ in
                asked.add()
                return bytes + Data("!".utf8)
            }
        }
        let report = try await manager.load(try scene.request())
        #expect(asked.value == 2)
        #expect(scene.stored(url) == scene.picture + [UInt8(ascii: "!")])
        #expect(scene.storedHalf(url)?.last == UInt8(ascii: "!"))
        #expect(report.stored.first?.bytes == scene.picture.count + 1)
        #expect(try await manager.load(try scene.request("/a.jpg", [], variants: "[]")).downloads == 0)
        #expect(asked.value == 2)
    }

    @Test("a serializer that answers nil leaves the bytes as they are")
    func serializerNil() async throws {
        let manager = try scene.manager { $0.serializer.own = { _, _ in nil } }
        _ = try await manager.load(try scene.request())
        #expect(scene.stored(url) == scene.picture)
    }

    @Test("Base64 is decoded before anything else, skipping what belongs to none")
    func base64() async throws {
        let text = Data(scene.picture).base64EncodedString(options: .lineLength76Characters)
        scene.origin.on("/b.jpg", .body(Array(" \n\(text)".utf8)))
        var request = try scene.request("/b.jpg")
        request.context.decryptor = .named("base64")
        let report = try await scene.manager().load(request)
        #expect(report.made == 1)
        #expect(scene.stored(scene.origin.url("/b.jpg")) == scene.picture)
    }

    @Test("what a decryptor makes nothing of fails with 1001 and is not stored")
    func decryptorNil() async throws {
        let manager = try scene.manager { $0.decryptor.own = { _, _ in nil } }
        #expect(await failure(of: try scene.request(), by: manager)?.code == 1001)
        #expect(scene.stored(url) == nil)
    }

    @Test("a request modifier's headers are sent; without a request it fails with 2000")
    func requestModifier() async throws {
        let manager = try scene.manager { parts in
            parts.requestModifier.own = { request in
                var request = request
                request.headers["X-Larder"] = "yes"
                return request
            }
        }
        _ = try await manager.load(try scene.request())
        #expect(scene.origin.requests.first?.headers["x-larder"] == "yes")
        let none = try scene.manager { $0.requestModifier.own = { _ in nil } }
        let error = await failure(of: try scene.request("/other.jpg"), by: none)
        #expect(error?.code == 2000 && error?.domain == "SDWebImageErrorDomain")
    }

    @Test("a response modifier may make a 404 a success; without a response it fails with 2003")
    func responseModifier() async throws {
        scene.origin.on("/odd.jpg", .body(scene.picture, status: 404))
        var request = try scene.request("/odd.jpg")
        request.context.responseModifier = .described(ResponseChange(status: 200))
        #expect(try await scene.manager().load(request).made == 1)
        let none = try scene.manager { $0.responseModifier.own = { _ in nil } }
        #expect(await failure(of: try scene.request(), by: none)?.code == 2003)
    }

    @Test("originals and variants may lie in caches of their own")
    func separateCaches() async throws {
        let originals = try DirectoryStore(opening: scene.directory.path + "/originals")
        let manager = try scene.manager { $0.caches = ["originals": originals] }
        var request = try scene.request()
        request.context.originalCache = .named("originals")
        _ = try await manager.load(request)
        #expect(scene.stored(url, in: originals) == scene.picture && scene.stored(url) == nil)
        #expect(scene.storedHalf(url) != nil && scene.storedHalf(url, in: originals) == nil)
    }

    @Test("a part that is not configured is named in the error")
    func unknownPart() async throws {
        var request = try scene.request()
        request.context.keyFilter = .named("mine")
        let error = await failure(of: request, by: try scene.manager())
        #expect(error?.domain == "LarderErrorDomain" && error?.code == 105)
        #expect(error?.message.contains("cacheKeyFilter 'mine'") == true)
    }

    @Test("cancelAll ends what runs with 2002, and nothing runs afterwards")
    func cancelAll() async throws {
        scene.origin.on("/slow.jpg", .silent)
        let manager = try scene.manager()
        async let load = failure(of: try scene.request("/slow.jpg"), by: manager)
        await scene.origin.waitForRequests("/slow.jpg")
        #expect(manager.isRunning)
        manager.cancelAll()
        #expect(try await load?.code == 2002)
        #expect(!manager.isRunning)
    }

    @Test("progress tells what has arrived, and of how much")
    func progress() async throws {
        let told = PrefetchLog()
        var request = try scene.request()
        request.progress = { received, expected in told.add("\(received)/\(expected ?? -1)") }
        _ = try await scene.manager().load(request)
        let size = scene.picture.count
        #expect(told.all.first == "0/\(size)" && told.all.last == "\(size)/\(size)")
    }
}
