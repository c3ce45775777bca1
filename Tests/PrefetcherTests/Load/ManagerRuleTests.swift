import DiskCache
import Downloader
import Foundation
import ImageModel
import TestSupport
import Testing

@testable import Prefetcher

/// Rules of SDWebImage 5.21.5's manager without a vector (sections 2.2 to 2.13 of the specification).
@Suite(.timeLimit(.minutes(5)))
struct ManagerRuleTests {
    private let harness: ManagerHarness
    private let list = MemoryBlocklist()

    init() throws {
        harness = try ManagerHarness()
        harness.origin.on("/a.jpg", .body(harness.image))
        harness.origin.on("/a.jpg?q", .body(harness.image))
    }

    private var url: String { harness.origin.url("/a.jpg") }

    @Test func `the options processor is also called for refused loads (2.2)`() async throws {
        let calls = CallCount()
        let manager = try harness.manager { [list] configuration in
            configuration.blocklist = list
            configuration.optionsProcessor = { _ in
                calls.add()
                return nil
            }
        }
        list.insert(url)
        #expect(await failure(of: LoadRequest(url: url), by: manager)?.code == 1003)
        #expect(await failure(of: LoadRequest(url: ""), by: manager)?.code == 1000)
        #expect(calls.value == 2)
    }

    @Test func `the processed options decide whether the blocklist applies (2.2)`() async throws {
        let manager = try harness.manager { [list] configuration in
            configuration.blocklist = list
            configuration.optionsProcessor = { request in
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

    @Test func `null in a context removes the manager's part (2.3, 2.4)`() async throws {
        let manager = try harness.manager { configuration in
            configuration.keyFilter.own = CacheKeyFilters.withoutQuery
            configuration.serializer.own = { _, _ in Data("serialized".utf8) }
            configuration.decryptor.own = { _, _ in nil }
            configuration.requestModifier.own = { _ in nil }
            configuration.responseModifier.own = { _ in nil }
        }
        var request = LoadRequest(url: harness.origin.url("/a.jpg?q"))
        request.context = try LoadContext(
            json: """
                {"cacheKeyFilter":null,"cacheSerializer":null,"downloadDecryptor":null,"downloadRequestModifier":null,
                 "downloadResponseModifier":null}
                """.utf8)
        #expect(try await manager.load(request).downloads == 1)
        #expect(harness.stored(request.url) == harness.image)
        #expect(harness.stored(url) == nil)
    }

    @Test
    func `a context's modifiers, filter and decryptor override the manager's (2.3, 3.2, 3.6, 3.7)`() async throws {
        let text = Data(harness.image).base64EncodedString()
        harness.origin.on("/b.jpg", .body(Array(text.utf8), status: 404))
        let manager = try harness.manager { configuration in
            configuration.keyFilter = .init(own: { _ in "own" }, named: ["mine": { _ in "mine" }])
            configuration.decryptor.own = { _, _ in nil }
            configuration.requestModifier.own = { _ in nil }
            configuration.responseModifier.own = { _ in nil }
        }
        var request = LoadRequest(url: harness.origin.url("/b.jpg"))
        request.context = try LoadContext(
            json: """
                {"cacheKeyFilter":"mine","downloadDecryptor":"base64","downloadRequestModifier":{"headers":{"X-A":"b"}},
                 "downloadResponseModifier":{"status":200}}
                """.utf8)
        #expect(try await manager.load(request).stored.map(\.key) == ["mine"])
        #expect(harness.origin.requests.first?.headers["x-a"] == "b")
        #expect(harness.stored("mine") == harness.image)
    }

    @Test func `canLoad is also called on hits (2.7)`() async throws {
        struct CountingSource: ImageSource {
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
        let manager = try harness.manager { $0.sources.append(CountingSource(calls: calls)) }
        _ = try await manager.load(LoadRequest(url: url))
        _ = try await manager.load(LoadRequest(url: url))
        #expect(calls.value == 2)
        #expect(harness.origin.requests.count == 1)
    }

    @Test func `a load cancelled after the download makes no variant and stores nothing (2.8)`() async throws {
        let arrived = AsyncStream<Void>.makeStream()
        let gate = OriginGate()
        let manager = try harness.manager { configuration in
            configuration.decryptor.own = { bytes, _ in
                arrived.continuation.yield()
                gate.wait()
                return bytes
            }
        }
        async let code = failure(of: try harness.request(), by: manager)?.code
        var arrivals = arrived.stream.makeAsyncIterator()
        await arrivals.next()
        manager.cancelAll()
        gate.openUp()
        #expect(try await code == 2002)
        #expect(harness.stored(url) == nil)
        #expect(harness.storedHalf(url) == nil)
    }

    @Test func `a cancelled load never blocks its URL (2.8, 2.13)`() async throws {
        harness.origin.on("/slow.jpg", .silent)
        let manager = try harness.manager { [list] configuration in
            configuration.blocklist = list
            configuration.shouldBlock = { _, _ in true }
        }
        async let code = failure(of: LoadRequest(url: harness.origin.url("/slow.jpg")), by: manager)?.code
        await harness.origin.waitForRequests("/slow.jpg")
        manager.cancelAll()
        #expect(await code == 2002)
        #expect(!list.contains(harness.origin.url("/slow.jpg")))
    }

    @Test func `cancelAll without running loads has no effect (2.1)`() async throws {
        let manager = try harness.manager()
        manager.cancelAll()
        manager.cancelAll()
        #expect(try await manager.load(LoadRequest(url: url)).downloads == 1)
    }

    @Test func `RetryFailed with RefreshCached and 304 leaves the URL blocked (2.13)`() async throws {
        harness.origin.on("/e.jpg", .body(harness.image, [("ETag", "\"1\"")]), .status(304))
        let manager = try harness.manager { [list] in $0.blocklist = list }
        let request = try harness.request("/e.jpg", [.retryFailed, .refreshCached], variants: "[]")
        _ = try await manager.load(request)
        list.insert(request.url)
        #expect(try await manager.load(request).isUnchanged)
        #expect(list.contains(request.url))
    }
}
