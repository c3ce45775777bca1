import Concurrency
import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct OriginLimiterTests {
    private func downloader(
        _ servers: OriginServer..., settings change: (inout OriginSettings) -> Void = { $0.maxWait = .zero }
    ) -> ImageDownloader {
        let ports = Set(servers.map(\.port))
        var configuration = FetchConfiguration(
            policy: AddressPolicy(allowedAddresses: [CIDR("127.0.0.1")].compactMap { $0 }, allowedPorts: ports),
            limits: longLimits)
        change(&configuration.origins)
        return ImageDownloader(configuration, resolver: StubResolver([:]))
    }

    @Test
    func `fail with the time to wait while it is held, and nothing is sent; other origins are not affected`()
        async throws
    {
        let held = try OriginServer(["/a": .status(429, [("Retry-After", "60")])])
        let other = try OriginServer(["/a": .body(noise(10))])
        let downloader = downloader(held, other)
        #expect(await downloader.failure(held.url("/a"))?.httpStatus == 429)
        let error = try #require(await downloader.failure(held.url("/b")))
        #expect(error.row == "LarderErrorDomain 106")
        let wait = try #require(error.retryAfter)
        #expect(wait > .zero)
        #expect(wait <= .seconds(60))
        #expect(held.requests.count == 1)
        _ = try await downloader.fetch(other.url("/a"))
        let changes = downloader.origins.limits.withLock { $0.takeChanges() }
        #expect(changes == [try Origin(of: held.url("/")): [.held(for: .seconds(60))]])
    }

    @Test func `count against the target of a redirect, not against its source`() async throws {
        let target = try OriginServer(["/a": .status(503, [("Retry-After", "60")])])
        let server = try OriginServer(["/a": .redirect(to: target.url("/a")), "/b": .body(noise(10))])
        let downloader = downloader(server, target)
        #expect(await downloader.failure(server.url("/a"))?.httpStatus == 503)
        _ = try await downloader.fetch(server.url("/b"))
        #expect(await downloader.failure(server.url("/a"))?.code == .originHeld)
        #expect(target.requests.count == 1)
    }

    @Test func `a transfer that runs when other workers hold its origin is completed, and its success is reported`()
        async throws
    {
        let gate = OriginGate()
        let server = try OriginServer(["/a": OriginReply([.wait(gate)] + OriginReply.body(noise(10)).steps)])
        let downloader = downloader(server)
        let origin = try Origin(of: server.url("/"))
        async let running = downloader.fetch(server.url("/a"))
        await server.waitForRequests("/a")
        let opened = OriginChange.opened(for: .seconds(60), OriginFailure(code: .timedOut, httpStatus: nil))
        downloader.origins.limits.withLock { _ = $0.adopt([(origin: origin, change: opened)]) }
        #expect(await downloader.failure(server.url("/b"))?.code == .originHeld)
        gate.openUp()
        #expect(try await running.sha256 == sha256(noise(10)))
        #expect(downloader.origins.limits.withLock { $0.takeChanges() } == [origin: [.closed]])
    }

    @Test func `a breaker whose report came late ends with the common one, with a probe`() async throws {
        let server = try OriginServer(["/a": .body(noise(10))])
        let downloader = downloader(server)
        let origin = try Origin(of: server.url("/"))
        let opened = OriginChange.opened(for: .seconds(60), OriginFailure(code: .timedOut, httpStatus: nil))
        let now = ContinuousClock.now
        downloader.origins.limits.withLock { limits in
            _ = limits.adopt([(origin: origin, change: opened)], asked: now - .seconds(60), at: now)
            // It has ended, and is no longer reported.
            _ = limits.adopt([], at: now)
        }
        _ = try await downloader.fetch(server.url("/a"))
        #expect(downloader.origins.limits.withLock { $0.takeChanges() }[origin]?.last == .closed)
    }

    @Test func `wait for the end of a hold within the maximum wait`() async throws {
        let server = try OriginServer(["/a": .status(429, [("Retry-After", "1")]), "/b": .body(noise(10))])
        let downloader = downloader(server) { $0.maxWait = .seconds(60) }
        _ = await downloader.failure(server.url("/a"))
        _ = try await downloader.fetch(server.url("/b"))
        let times = server.requests.map(\.time)
        #expect(times[1] - times[0] >= .seconds(1))
    }

    @Test func `that share a transfer count once for the breaker`() async throws {
        let gate = OriginGate()
        let server = try OriginServer()
        server.on("/a", OriginReply([.wait(gate)] + OriginReply.status(500).steps), .status(500))
        let downloader = downloader(server) { ($0.failures, $0.maxWait) = (2, .zero) }
        let request = FetchRequest(server.url("/a"))
        await withTaskGroup(of: FetchError?.self) { group in
            for _ in 0..<5 {
                group.addTask { await #expect(throws: FetchError.self) { try await downloader.fetch(request) } }
            }
            #expect(await reached { await downloader.subscriberCount >= 5 })
            gate.openUp()
            for await error in group { #expect(error?.httpStatus == 500) }
        }
        #expect(server.count("/a") == 1)
        // The second failure opens the breaker, the third download is refused.
        #expect(await downloader.failure(server.url("/a"))?.httpStatus == 500)
        #expect(await downloader.failure(server.url("/a"))?.code == .originHeld)
        #expect(server.count("/a") == 2)
    }
}
