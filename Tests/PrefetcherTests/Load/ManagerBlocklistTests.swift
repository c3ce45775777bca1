import DiskCache
import Foundation
import ImageModel
import JobQueue
import TestSupport
import Testing

@testable import Prefetcher

/// The flows of failed URLs, step by step.
@Suite("ImageManager, failed URLs", .timeLimit(.minutes(5)))
struct ManagerBlocklistTests {
    private let scene: ManagerScene
    private let list = MemoryBlocklist()
    private let manager: ImageManager

    init() throws {
        scene = try ManagerScene()
        manager = try scene.manager { [list] in $0.blocklist = list }
    }

    @Test("an undecodable body fails with 1001, and again with 1003 without network")
    func failingFlow() async throws {
        scene.origin.on("/a.jpg", .body(Array("<html>".utf8)))
        #expect(await failure(of: try scene.request(), by: manager)?.code == 1001)
        #expect(await failure(of: try scene.request(), by: manager)?.code == 1003)
        #expect(scene.origin.count("/a.jpg") == 1)
    }

    @Test("a body that begins like a picture and does not decode blocks, too")
    func undecodable() async throws {
        scene.origin.on("/a.jpg", .body(Array(scene.picture.prefix(scene.picture.count / 2))))
        #expect(await failure(of: try scene.request(), by: manager)?.code == 1001)
        #expect(list.contains(scene.origin.url("/a.jpg")))
    }

    @Test("404 twice asks the server twice")
    func notFound() async throws {
        scene.origin.on("/a.jpg", .status(404))
        #expect(await failure(of: try scene.request(), by: manager)?.code == 2001)
        #expect(await failure(of: try scene.request(), by: manager)?.code == 2001)
        #expect(scene.origin.count("/a.jpg") == 2)
    }

    @Test("the blocklist comes before the cache")
    func blocklistBeatsCache() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        _ = try await manager.load(try scene.request())
        list.insert(scene.origin.url("/a.jpg"))
        #expect(await failure(of: try scene.request(), by: manager)?.code == 1003)
    }

    @Test("RetryFailed ignores the list, and a download that succeeds takes the URL off it")
    func retryFailed() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        list.insert(scene.origin.url("/a.jpg"))
        let report = try await manager.load(try scene.request("/a.jpg", .retryFailed))
        #expect(report.made == 1)
        #expect(!list.contains(scene.origin.url("/a.jpg")))
    }

    @Test("RetryFailed answered from the cache leaves the URL on the list")
    func retryFailedFromCache() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        _ = try await manager.load(try scene.request())
        list.insert(scene.origin.url("/a.jpg"))
        let report = try await manager.load(try scene.request("/a.jpg", .retryFailed))
        #expect(report.downloads == 0)
        #expect(list.contains(scene.origin.url("/a.jpg")))
    }

    @Test("RetryFailed does not keep a URL from going on the list")
    func retryFailedFails() async throws {
        scene.origin.on("/a.jpg", .body(Array("<html>".utf8)))
        _ = await failure(of: try scene.request("/a.jpg", .retryFailed), by: manager)
        #expect(list.contains(scene.origin.url("/a.jpg")))
    }

    @Test("each manager has a list of its own")
    func separateLists() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        list.insert(scene.origin.url("/a.jpg"))
        let other = try scene.manager()
        #expect(try await other.load(try scene.request()).made == 1)
        #expect(list.contains(scene.origin.url("/a.jpg")))
    }

    @Test("the hook decides alone: a 404 blocks when it says so, a bad picture does not when it says not")
    func hookDecides() async throws {
        let manager = try scene.manager { [list] parts in
            parts.blocklist = list
            parts.shouldBlock = { _, failure in failure.code == 2001 }
        }
        scene.origin.on("/gone.jpg", .status(404))
        scene.origin.on("/bad.jpg", .body(Array("<html>".utf8)))
        _ = await failure(of: try scene.request("/gone.jpg"), by: manager)
        _ = await failure(of: try scene.request("/bad.jpg"), by: manager)
        #expect(list.contains(scene.origin.url("/gone.jpg")))
        #expect(!list.contains(scene.origin.url("/bad.jpg")))
    }

    @Test("a URL in another spelling is another URL")
    func identity() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        list.insert(scene.origin.url("/a.jpg").replacingOccurrences(of: "http://", with: "HTTP://"))
        #expect(try await manager.load(try scene.request()).made == 1)
    }

    @Test("removing one URL, and removing all, are heard at once")
    func removal() async throws {
        list.insert("a")
        list.insert("b")
        list.remove("a")
        #expect(!list.contains("a") && list.contains("b"))
        list.removeAll()
        #expect(!list.contains("b"))
    }

    @Test("an empty URL fails with 1000, is never blocked, and nothing runs")
    func emptyURL() async throws {
        #expect(await failure(of: LoadRequest(url: ""), by: manager)?.code == 1000)
        #expect(!list.contains("") && !manager.isRunning)
    }

    @Test("no message repeats a password or a query")
    func secrets() async throws {
        let url = "https://user:secret@h.example/a.jpg?token=secret"
        list.insert(url)
        let message = await failure(of: LoadRequest(url: url), by: manager)?.message
        #expect(message == "https://h.example/a.jpg: is blocked")
    }

    @Test("a variant that cannot be made does not block its URL")
    func variantFails() async throws {
        scene.origin.on("/a.jpg", .body(scene.picture))
        let outside = #"[{"name":"outside","transform":[{"type":"crop","x":5000,"y":0,"width":5,"height":5}]}]"#
        let report = try await manager.load(try scene.request(variants: outside))
        #expect(report.failure?.code == 401)
        #expect(!list.contains(scene.origin.url("/a.jpg")))
    }
}

/// The list in memory by itself.
@Suite("MemoryBlocklist")
struct MemoryBlocklistTests {
    @Test("a URL stays a day, then two, then four, and never more than thirty")
    func growth() {
        let clock = ManualClock()
        let list = MemoryBlocklist(capacity: 10) { clock.now }
        for days in [1, 2, 4, 8, 16, 30, 30] {
            list.insert("a")
            clock.advance(.seconds(days * 86_400 - 1))
            #expect(list.contains("a"))
            clock.advance(.seconds(1))
            #expect(!list.contains("a"))
        }
    }

    @Test("a full list lets the oldest go and keeps the newest")
    func capacity() {
        let list = MemoryBlocklist(capacity: 80)
        for number in 0..<1000 {
            list.insert("\(number)")
            #expect(list.contains("\(number)"))
        }
        let kept = (0..<1000).filter { list.contains("\($0)") }
        #expect(kept.count <= 80 && kept.count >= 70)
        #expect(kept == Array(kept[0]..<1000))
    }

    @Test("composed and decomposed forms are two URLs")
    func bytes() {
        let list = MemoryBlocklist()
        list.insert("http://h/\u{e9}.png")
        #expect(!list.contains("http://h/e\u{301}.png"))
    }
}
