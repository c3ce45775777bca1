import DiskCache
import Foundation
import ImageModel
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher

@Suite(.timeLimit(.minutes(5)))
struct ManagerBlocklistTests {
    private let harness: ManagerHarness
    private let list = MemoryBlocklist()
    private let manager: ImageManager

    init() throws {
        harness = try ManagerHarness()
        manager = try harness.manager { [list] in $0.blocklist = list }
    }

    @Test func `an undecodable body fails with 1001, and then with 1003 without a request`() async throws {
        harness.origin.on("/a.jpg", .body(Array("<html>".utf8)))
        #expect(await failure(of: try harness.request(), by: manager)?.code == 1001)
        #expect(await failure(of: try harness.request(), by: manager)?.code == 1003)
        #expect(harness.origin.count("/a.jpg") == 1)
    }

    @Test func `a truncated image blocks its URL`() async throws {
        harness.origin.on("/a.jpg", .body(Array(harness.image.prefix(harness.image.count / 2))))
        #expect(await failure(of: try harness.request(), by: manager)?.code == 1001)
        #expect(list.contains(harness.origin.url("/a.jpg")))
    }

    @Test func `a limit or a format of this manager does not block the URL, and the failure says what it needs`()
        async throws
    {
        let manager = try harness.manager { [list] configuration in
            configuration.blocklist = list
            configuration.limits.framePixels = 1
        }
        harness.origin.on("/a.jpg", .body(harness.image))
        let large = try #require(await failure(of: try harness.request(), by: manager))
        #expect(large.code == 202, "\(large)")
        #expect(large.needs.count == 1, "\(large)")
        harness.origin.on("/a.jpg", .body(Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)))
        let refused = try #require(await failure(of: try harness.request(), by: manager))
        #expect(refused.code == 1001)
        #expect(refused.needs == [.format(.svg)])
        #expect(refused.message.hasSuffix("; --allow-format svg accepts it"), "\(refused.message)")
        #expect(!list.contains(harness.origin.url("/a.jpg")))
    }

    @Test func `a URL that gives 404 is requested each time`() async throws {
        harness.origin.on("/a.jpg", .status(404))
        #expect(await failure(of: try harness.request(), by: manager)?.code == 2001)
        #expect(await failure(of: try harness.request(), by: manager)?.code == 2001)
        #expect(harness.origin.count("/a.jpg") == 2)
    }

    @Test func `the blocklist is checked before the cache`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        _ = try await manager.load(try harness.request())
        list.insert(harness.origin.url("/a.jpg"))
        #expect(await failure(of: try harness.request(), by: manager)?.code == 1003)
    }

    @Test func `RetryFailed ignores the blocklist, and a successful download unblocks the URL`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        list.insert(harness.origin.url("/a.jpg"))
        let report = try await manager.load(try harness.request("/a.jpg", .retryFailed))
        #expect(report.made == 1)
        #expect(!list.contains(harness.origin.url("/a.jpg")))
    }

    @Test func `RetryFailed with a cache hit leaves the URL blocked`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        _ = try await manager.load(try harness.request())
        list.insert(harness.origin.url("/a.jpg"))
        let report = try await manager.load(try harness.request("/a.jpg", .retryFailed))
        #expect(report.downloads == 0)
        #expect(list.contains(harness.origin.url("/a.jpg")))
    }

    @Test func `RetryFailed does not prevent a block`() async throws {
        harness.origin.on("/a.jpg", .body(Array("<html>".utf8)))
        _ = await failure(of: try harness.request("/a.jpg", .retryFailed), by: manager)
        #expect(list.contains(harness.origin.url("/a.jpg")))
    }

    @Test func `each manager has its own blocklist`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        list.insert(harness.origin.url("/a.jpg"))
        let other = try harness.manager()
        #expect(try await other.load(try harness.request()).made == 1)
        #expect(list.contains(harness.origin.url("/a.jpg")))
    }

    @Test func `shouldBlock overrides the rule: it can block a 404 and not block a bad image`() async throws {
        let manager = try harness.manager { [list] configuration in
            configuration.blocklist = list
            configuration.shouldBlock = { _, failure in failure.code == 2001 }
        }
        harness.origin.on("/gone.jpg", .status(404))
        harness.origin.on("/bad.jpg", .body(Array("<html>".utf8)))
        _ = await failure(of: try harness.request("/gone.jpg"), by: manager)
        _ = await failure(of: try harness.request("/bad.jpg"), by: manager)
        #expect(list.contains(harness.origin.url("/gone.jpg")))
        #expect(!list.contains(harness.origin.url("/bad.jpg")))
    }

    @Test func `URLs with different bytes are different URLs`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        list.insert(harness.origin.url("/a.jpg").replacingOccurrences(of: "http://", with: "HTTP://"))
        #expect(try await manager.load(try harness.request()).made == 1)
    }

    @Test func `removing one URL or all takes effect at once`() async throws {
        list.insert("a")
        list.insert("b")
        list.remove("a")
        #expect(!list.contains("a"))
        #expect(list.contains("b"))
        list.removeAll()
        #expect(!list.contains("b"))
    }

    @Test func `an empty URL fails with 1000, is never blocked, and starts nothing`() async throws {
        #expect(await failure(of: LoadRequest(url: ""), by: manager)?.code == 1000)
        #expect(!list.contains(""))
        #expect(!manager.isRunning)
    }

    @Test func `no message contains a password or a query`() async throws {
        let url = "https://user:secret@h.example/a.jpg?token=secret"
        list.insert(url)
        let message = await failure(of: LoadRequest(url: url), by: manager)?.message
        #expect(message == "https://h.example/a.jpg: is blocked")
    }

    @Test func `a failed variant does not block its URL`() async throws {
        harness.origin.on("/a.jpg", .body(harness.image))
        let outside = #"[{"name":"outside","transform":[{"type":"crop","x":5000,"y":0,"width":5,"height":5}]}]"#
        let report = try await manager.load(try harness.request(variants: outside))
        #expect(report.failure?.code == 401)
        #expect(!list.contains(harness.origin.url("/a.jpg")))
    }
}

struct MemoryBlocklistTests {
    @Test func `a block lasts 1 day, then 2, then 4, and at most 30`() {
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

    @Test func `a block of 30 days is not shortened by a later failure, nor made longer`() {
        let clock = ManualClock()
        let list = MemoryBlocklist(capacity: 10) { clock.now }
        list.insert("a", for: .seconds(30 * 86_400))
        list.insert("a")
        clock.advance(.seconds(30 * 86_400 - 1))
        #expect(list.contains("a"))
        clock.advance(.seconds(1))
        #expect(!list.contains("a"))
    }

    @Test func `a full list drops its oldest URLs`() {
        let list = MemoryBlocklist(capacity: 80)
        for number in 0..<1000 {
            list.insert("\(number)")
            #expect(list.contains("\(number)"))
        }
        let kept = (0..<1000).filter { list.contains("\($0)") }
        #expect(kept == Array(920..<1000))
    }

    @Test func `composed and decomposed characters make different URLs`() {
        let list = MemoryBlocklist()
        list.insert("http://h/\u{e9}.png")
        #expect(!list.contains("http://h/e\u{301}.png"))
    }
}
