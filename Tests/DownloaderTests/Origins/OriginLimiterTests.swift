import Concurrency
import ImageModel
import JobQueue
import TestSupport
import Testing

@testable import Downloader
@testable import Prefetcher
@testable import Worker

@Suite("The gate before an origin", .timeLimit(.minutes(5)))
struct OriginLimiterTests {
    private typealias Gate = OriginLimiter

    private func gate(_ change: (inout OriginSettings) -> Void = { _ in }) -> Gate {
        var settings = OriginSettings()
        change(&settings)
        return Gate(settings)
    }

    private func entry(_ gate: Gate, _ url: SourceURL) async -> Result<Gate.Passage, FetchError> {
        do throws(FetchError) { return .success(try await gate.enter(url)) } catch { return .failure(error) }
    }

    @Test("a held origin refuses with the time to come back after, and nothing is asked; others go on")
    func held() async throws {
        let held = try OriginServer(["/a": .status(429, [("Retry-After", "60")])])
        let other = try OriginServer(["/a": .body(noise(10))])
        let downloader = ImageDownloader(FetchConfiguration(policy: loopback(held.port, other.port)))
        #expect(await downloader.failure(held.url("/a"))?.httpStatus == 429)
        let error = try #require(await downloader.failure(held.url("/b")))
        #expect(error.row == "LarderErrorDomain 106")
        let wait = try #require(error.retryAfter)
        #expect(wait > .seconds(50) && wait <= .seconds(60))
        #expect(RetryPolicy.mayHelp(domain: error.domain, code: error.domainCode, httpStatus: nil))
        #expect(held.requests.count == 1)
        _ = try await downloader.fetch(other.url("/a"))
        let changes = downloader.origins.takeChanges()
        #expect(changes == [try SourceURL(held.url("/")).origin: [.held(for: .seconds(60))]])
    }

    @Test("the origin of a redirect's target counts, not the one that led there")
    func redirected() async throws {
        let target = try OriginServer(["/a": .status(503, [("Retry-After", "60")])])
        let server = try OriginServer(["/a": .redirect(to: target.url("/a")), "/b": .body(noise(10))])
        let downloader = ImageDownloader(FetchConfiguration(policy: loopback(server.port, target.port)))
        #expect(await downloader.failure(server.url("/a"))?.httpStatus == 503)
        _ = try await downloader.fetch(server.url("/b"))
        #expect(await downloader.failure(server.url("/a"))?.code == .originHeld)
        #expect(target.requests.count == 1)
    }

    @Test("without a queue a download may wait for a held origin")
    func patience() async throws {
        let server = try OriginServer(["/a": .status(429, [("Retry-After", "1")]), "/b": .body(noise(10))])
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(server.port)), origins: gate { $0.patience = .seconds(60) })
        _ = await downloader.failure(server.url("/a"))
        _ = try await downloader.fetch(server.url("/b"))
        let times = server.requests.map(\.time)
        #expect(times[1] - times[0] >= .seconds(1))
    }

    @Test("failures of connecting open the breaker; a given-up origin fails with the failure itself, unasked")
    func breaker() async throws {
        let url = try SourceURL("http://127.0.0.1:9/a")
        let gate = gate { ($0.failures, $0.probes) = (2, 0) }
        for _ in 0..<2 { gate.leave(try await gate.enter(url), .failed(.cannotConnect)) }
        guard case .failure(let error) = await entry(gate, url) else { return #expect(Bool(false)) }
        #expect(error.row == "NSURLErrorDomain -1004")
        let reports = gate.reports(gate.takeChanges())
        #expect(reports.map(\.origin) == ["http://127.0.0.1:9"])
        let failure = FailureReason(domain: "NSURLErrorDomain", code: -1004, message: "")
        #expect(
            reports.map(\.finding)
                == [.opened(.seconds(60), failedProbes: 0, givesUp: true, failure, httpStatus: nil)])
    }

    @Test("where an origin asked for less, those behind wait for those before, and the cancelled leave")
    func waiting() async throws {
        let url = try SourceURL("http://a.example/a")
        let gate = gate { $0.concurrency = 2 }
        gate.leave(try await gate.enter(url), .answered(status: 429))
        let first = try await gate.enter(url)
        let entered = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    guard case .success(let passage) = await self.entry(gate, url) else { return }
                    let now = entered.withLock { count in
                        count += 1
                        return count
                    }
                    #expect(now == 1, "one at once")
                    await Task.yield()
                    entered.withLock { $0 -= 1 }
                    gate.leave(passage, .unknown)
                }
            }
            let leaver = Task { await self.entry(gate, url) }
            leaver.cancel()
            guard case .failure(let error) = await leaver.value else { return #expect(Bool(false)) }
            #expect(error.code == .cancelled)
            gate.leave(first, .unknown)
        }
        #expect(entered.withLock { $0 } == 0)
    }

    @Test("who waits behind others hears of a hold at once")
    func heldMeanwhile() async throws {
        let url = try SourceURL("http://a.example/a")
        let gate = gate { $0.concurrency = 2 }
        gate.leave(try await gate.enter(url), .answered(status: 429))
        let first = try await gate.enter(url)
        async let waiting = entry(gate, url)
        gate.leave(first, .answered(status: 503, retryAfter: .seconds(60)))
        guard case .failure(let error) = await waiting else { return #expect(Bool(false)) }
        #expect(error.code == .originHeld)
    }

    @Test("when an open breaker's time is over one of fifty passes, as the probe; its success lets all pass")
    func oneProbe() async throws {
        let url = try SourceURL("http://a.example/a")
        let clock = ManualClock()
        var settings = OriginSettings()
        settings.failures = 1
        let gate = Gate(settings) { clock.now }
        gate.leave(try await gate.enter(url), .failed(.timedOut))
        clock.advance(settings.open)
        let entries = await withTaskGroup(of: Result<Gate.Passage, FetchError>.self) { group in
            for _ in 0..<50 { group.addTask { await self.entry(gate, url) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let passed = entries.compactMap { try? $0.get() }
        let errors = entries.compactMap { entry in if case .failure(let error) = entry { error } else { nil } }
        #expect(passed.map(\.pass.isProbe) == [true] && errors.count == 49)
        #expect(errors.allSatisfy { $0.code == .originHeld && $0.retryAfter == OriginState.probePause })
        gate.leave(try #require(passed.first), .answered(status: 404))
        for _ in 0..<50 { gate.leave(try await gate.enter(url), .unknown) }
    }

    @Test("a probe that fails keeps all away anew; one that is called off gives its place to the next")
    func failedProbe() async throws {
        let url = try SourceURL("http://a.example/a")
        let clock = ManualClock()
        var settings = OriginSettings()
        settings.failures = 1
        let gate = Gate(settings) { clock.now }
        gate.leave(try await gate.enter(url), .answered(status: 500))
        clock.advance(settings.open)
        let calledOff = try await gate.enter(url)
        gate.leave(calledOff, .unknown)
        let probe = try await gate.enter(url)
        #expect(calledOff.pass.isProbe && probe.pass.isProbe)
        gate.leave(probe, .answered(status: 500))
        guard case .failure(let error) = await entry(gate, url) else { return #expect(Bool(false)) }
        #expect(error.code == .originHeld && error.retryAfter == settings.open)
    }

    @Test("what several shared failed once for the breaker")
    func sharedFailure() async throws {
        let answer = OriginGate()
        let server = try OriginServer()
        server.on("/a", OriginReply([.wait(answer)] + OriginReply.status(500).steps), .status(500))
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(server.port), limits: patient), origins: gate { $0.failures = 2 })
        let request = FetchRequest(url: try SourceURL(server.url("/a")), descriptor: BodyFile.sink.descriptor)
        await withTaskGroup(of: FetchError?.self) { group in
            for _ in 0..<5 {
                group.addTask { await #expect(throws: FetchError.self) { try await downloader.fetch(request) } }
            }
            #expect(await reached { await downloader.waiterCount >= 5 })
            answer.openUp()
            var shared = 0
            for await error in group {
                #expect(error?.httpStatus == 500)
                if error?.isShared == true { shared += 1 }
            }
            #expect(shared == 4)
        }
        #expect(server.count("/a") == 1)
        // One failure so far: the second opens, the third is not asked.
        #expect(await downloader.failure(server.url("/a"))?.httpStatus == 500)
        #expect(await downloader.failure(server.url("/a"))?.code == .originHeld)
        #expect(server.count("/a") == 2)
    }

    @Test("what cannot be told is kept, and newer changes stand before older ones")
    func changes() async throws {
        let url = try SourceURL("http://a.example/a")
        let gate = gate()
        gate.leave(try await gate.enter(url), .answered(status: 503, retryAfter: .seconds(1)))
        let first = gate.takeChanges()
        #expect(first.values.map { $0 } == [[.held(for: .seconds(1))]])
        gate.putBack(first)
        #expect(gate.takeChanges() == first)
        #expect(gate.takeChanges().isEmpty)
    }

    @Test("origins have the database's names")
    func names() throws {
        for (url, name) in [
            ("https://Example.com/a", "https://example.com:443"), ("http://[::1]:8080/", "http://[::1]:8080"),
            ("http://a.example./", "http://a.example:80"),
        ] {
            let origin = try SourceURL(url).origin
            #expect(origin.queueName == name)
            #expect(Origin(queueName: name) == origin)
        }
    }
}
