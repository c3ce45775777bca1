import DiskCache
import Downloader
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing

@testable import Prefetcher

/// Rules of SDWebImage 5.21.5's manager that no row of the vectors shows (sections 2.2 to 2.13 of the specification).
@Suite("ImageManager, rules without a row", .timeLimit(.minutes(5)))
struct ManagerRuleTests {
    private let scene: ManagerScene
    private let list = MemoryBlocklist()

    init() throws {
        scene = try ManagerScene()
        scene.origin.on("/a.jpg", .body(scene.picture))
        scene.origin.on("/a.jpg?q", .body(scene.picture))
    }

    private var url: String { scene.origin.url("/a.jpg") }

    @Test("the options processor is asked of loads that are refused, too (2.2)")
    func processorOfRefused() async throws {
        let calls = CallCount()
        let manager = try scene.manager { [list] parts in
            parts.blocklist = list
            parts.optionsProcessor = { _ in
                calls.add()
                return nil
            }
        }
        list.insert(url)
        #expect(await failure(of: LoadRequest(url: url), by: manager)?.code == 1003)
        #expect(await failure(of: LoadRequest(url: ""), by: manager)?.code == 1000)
        #expect(calls.value == 2)
    }

    @Test("it is the processed options that pass the blocklist, or do not (2.2)")
    func processedRetryFailed() async throws {
        let manager = try scene.manager { [list] parts in
            parts.blocklist = list
            parts.optionsProcessor = { request in
                var request = request
                request.options.formSymmetricDifference(.retryFailed)
                return request
            }
        }
        list.insert(url)
        #expect(await failure(of: LoadRequest(url: url, options: .retryFailed), by: manager)?.code == 1003)
        #expect(try await manager.load(LoadRequest(url: url)).downloads == 1)
        #expect(!list.contains(url))
    }

    @Test("null in a context takes the manager's own part away (2.3, 2.4)")
    func nullParts() async throws {
        let manager = try scene.manager { parts in
            parts.keyFilter.own = CacheKeyFilters.withoutQuery
            parts.serializer.own = { _, _ in Data("serialized".utf8) }
            parts.decryptor.own = { _, _ in nil }
            parts.requestModifier.own = { _ in nil }
            parts.responseModifier.own = { _ in nil }
        }
        var request = LoadRequest(url: scene.origin.url("/a.jpg?q"))
        request.context = try LoadContext(
            json: """
                {"cacheKeyFilter":null,"cacheSerializer":null,"downloadDecryptor":null,"downloadRequestModifier":null,
                 "downloadResponseModifier":null}
                """.utf8)
        #expect(try await manager.load(request).downloads == 1)
        #expect(scene.stored(request.url) == scene.picture && scene.stored(url) == nil)
    }

    @Test("a context's modifiers, filter and decryptor win over the manager's own (2.3, 3.2, 3.6, 3.7)")
    func contextWins() async throws {
        let text = Data(scene.picture).base64EncodedString()
        scene.origin.on("/b.jpg", .body(Array(text.utf8), status: 404))
        let manager = try scene.manager { parts in
            parts.keyFilter = .init(own: { _ in "own" }, named: ["mine": { _ in "mine" }])
            parts.decryptor.own = { _, _ in nil }
            parts.requestModifier.own = { _ in nil }
            parts.responseModifier.own = { _ in nil }
        }
        var request = LoadRequest(url: scene.origin.url("/b.jpg"))
        request.context = try LoadContext(
            json: """
                {"cacheKeyFilter":"mine","downloadDecryptor":"base64","downloadRequestModifier":{"headers":{"X-A":"b"}},
                 "downloadResponseModifier":{"status":200}}
                """.utf8)
        #expect(try await manager.load(request).stored.map(\.key) == ["mine"])
        #expect(scene.origin.requests.first?.headers["x-a"] == "b" && scene.stored("mine") == scene.picture)
    }

    @Test("whether a source knows the URL is asked on hits, too (2.7)")
    func askedOnHits() async throws {
        struct Asked: ImageSource {
            let calls: CallCount
            func canLoad(_ url: String) -> Bool {
                calls.add()
                return false
            }
            func load(
                _ request: FetchRequest, options: LoadOptions, into file: Int32
            ) async throws(LoadError) -> FetchResponse {
                throw LoadError.noURL
            }
        }
        let calls = CallCount()
        let manager = try scene.manager { $0.sources.append(Asked(calls: calls)) }
        _ = try await manager.load(LoadRequest(url: url))
        _ = try await manager.load(LoadRequest(url: url))
        #expect(calls.value == 2 && scene.origin.requests.count == 1)
    }

    @Test("who is cancelled after the download makes no variant and stores nothing (2.8)")
    func cancelledAfterDownload() async throws {
        let arrived = AsyncStream<Void>.makeStream()
        let gate = OriginGate()
        let manager = try scene.manager { parts in
            parts.decryptor.own = { bytes, _ in
                arrived.continuation.yield()
                gate.wait()
                return bytes
            }
        }
        async let code = failure(of: try scene.request(), by: manager)?.code
        var arrivals = arrived.stream.makeAsyncIterator()
        await arrivals.next()
        manager.cancelAll()
        gate.openUp()
        #expect(try await code == 2002)
        #expect(scene.stored(url) == nil && scene.storedHalf(url) == nil)
    }

    @Test("a cancelled load blocks nothing, whatever the hook says (2.8, 2.13)")
    func cancelledNeverBlocks() async throws {
        scene.origin.on("/slow.jpg", .silent)
        let manager = try scene.manager { [list] parts in
            parts.blocklist = list
            parts.shouldBlock = { _, _ in true }
        }
        async let code = failure(of: LoadRequest(url: scene.origin.url("/slow.jpg")), by: manager)?.code
        await scene.origin.waitForRequests("/slow.jpg")
        manager.cancelAll()
        #expect(await code == 2002)
        #expect(!list.contains(scene.origin.url("/slow.jpg")))
    }

    @Test("cancelling twice, and cancelling when nothing runs, is nothing (2.1)")
    func cancelledTwice() async throws {
        let manager = try scene.manager()
        manager.cancelAll()
        manager.cancelAll()
        #expect(try await manager.load(LoadRequest(url: url)).downloads == 1)
    }

    @Test("RetryFailed with RefreshCached that brings 304 leaves the URL on the list (2.13)")
    func retryFailedUnchanged() async throws {
        scene.origin.on("/e.jpg", .body(scene.picture, [("ETag", "\"1\"")]), .status(304))
        let manager = try scene.manager { [list] in $0.blocklist = list }
        let request = try scene.request("/e.jpg", [.retryFailed, .refreshCached], variants: "[]")
        _ = try await manager.load(request)
        list.insert(request.url)
        #expect(try await manager.load(request).isUnchanged)
        #expect(list.contains(request.url))
    }
}
