import Concurrency
import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct RequestTests {
    private func fetch(
        _ server: OriginServer, _ target: String, _ downloader: ImageDownloader? = nil,
        into file: BodyFile = BodyFile(),
        _ change: (inout FetchRequest) -> Void
    ) async throws(FetchError) -> FetchResponse {
        var request = FetchRequest(server.url(target))
        change(&request)
        return try await (downloader ?? ImageDownloader(for: server)).fetch(request, into: file)
    }

    private func failure(
        _ server: OriginServer, _ target: String, _ downloader: ImageDownloader? = nil,
        _ change: (inout FetchRequest) -> Void
    ) async -> FetchError? {
        do throws(FetchError) {
            _ = try await fetch(server, target, downloader, change)
            return nil
        } catch {
            return error
        }
    }

    @Test func `with validators accepts 304; without them 304 is a failure`() async throws {
        let server = try OriginServer([
            "/same": .status(304, [("ETag", "\"v1\"")]), "/new": .body(noise(10), [("ETag", "\"v2\"")]),
        ])
        let file = BodyFile()
        let known = Validators(etag: "\"v1\"", lastModified: "Sat, 01 Jan 2022 10:00:00 GMT")
        let same = try await fetch(server, "/same", into: file) { $0.validators = known }
        #expect(same.isNotModified)
        #expect(same.status == 304)
        #expect(same.bytes == 0)
        #expect(same.etag == "\"v1\"")
        #expect(file.bytes.isEmpty)
        let new = try await fetch(server, "/new") { $0.validators = known }
        #expect(!new.isNotModified)
        #expect(new.bytes == 10)
        #expect(new.etag == "\"v2\"")
        #expect(server.requests.allSatisfy { $0.headers["if-none-match"] == "\"v1\"" })
        #expect(server.requests.allSatisfy { $0.headers["if-modified-since"] == "Sat, 01 Jan 2022 10:00:00 GMT" })
        #expect(
            await failure(server, "/same") { $0.validators = Validators() }?.row == "SDWebImageErrorDomain 2001")
        #expect(
            await failure(server, "/same") { $0.rules.statuses = 200..<400 }?.row == "SDWebImageErrorDomain 1002")
        #expect(await failure(server, "/same") { $0.rules.statuses = nil }?.row == "SDWebImageErrorDomain 1002")
    }

    @Test
    func `sets, replaces and removes headers, and sends another method with a body (test03, test23)`() async throws {
        let server = try OriginServer(["/x": .body(noise(10))])
        _ = try await fetch(server, "/x") {
            $0.headers = [
                HeaderField("Biz", "Bazz"), HeaderField("accept", "image/webp"), HeaderField("User-Agent", ""),
            ]
            $0.method = "post"
            $0.body = Array("hello".utf8)
        }
        let request = try #require(server.requests.first)
        #expect(request.headers["biz"] == "Bazz")
        #expect(request.headers["accept"] == "image/webp")
        #expect(request.headers["user-agent"] == nil)
        #expect(request.headers["content-length"] == "5")
    }

    @Test(arguments: [
        ("X", "a\r\nHost: evil"), ("X\r\nY", "a"), ("", "a"), ("Host", "evil"), ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"), ("X Y", "a"), ("X:", "a"), ("X", String(repeating: "a", count: 9000)),
    ])
    func `with a header that would end or delimit the message is refused with 2000`(name: String, value: String)
        async throws
    {
        let server = try OriginServer(["/x": .body(noise(10))])
        let error = await failure(server, "/x") { $0.headers = [HeaderField(name, value)] }
        #expect(error?.row == "SDWebImageErrorDomain 2000")
        #expect(server.acceptedConnections == 0)
    }

    @Test(arguments: ["", "GE T", "HEAD", "G\r"])
    func `with an invalid method, or one without a response body, is refused with 2000`(method: String) async throws {
        let server = try OriginServer(["/x": .body(noise(10))])
        #expect(await failure(server, "/x") { $0.method = method }?.row == "SDWebImageErrorDomain 2000")
    }

    @Test func `sends its headers to its own origin only`() async throws {
        let other = try OriginServer(["/": .body(noise(10))])
        let server = try OriginServer([
            "/own": .redirect(to: "/end"), "/end": .body(noise(10)), "/away": .redirect(to: other.url("/")),
        ])
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(server.port, other.port)), resolver: StubResolver([:]))
        let change = { (request: inout FetchRequest) in
            request.headers = [
                HeaderField("Authorization", "s"), HeaderField("X-Key", "s"), HeaderField("Accept", "a/b"),
            ]
        }
        _ = try await fetch(server, "/own", downloader, change)
        _ = try await fetch(server, "/away", downloader, change)
        #expect(server.requests.allSatisfy { $0.headers["x-key"] == "s" && $0.headers["authorization"] == "s" })
        let away = try #require(other.requests.first)
        #expect(away.headers["x-key"] == nil)
        #expect(away.headers["authorization"] == nil)
        #expect(away.headers["accept"] == "a/b")
    }

    @Test func `with a body does not send it to another origin`() async throws {
        let other = try OriginServer(["/": .body(noise(10))])
        let server = try OriginServer([
            "/307": .redirect(to: other.url("/"), status: 307), "/303": .redirect(to: other.url("/"), status: 303),
        ])
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(server.port, other.port)), resolver: StubResolver([:]))
        let change = { (request: inout FetchRequest) in
            request.method = "POST"
            request.body = [1, 2, 3]
        }
        #expect(await failure(server, "/307", downloader, change)?.row == "SDWebImageErrorDomain 2001")
        #expect(other.acceptedConnections == 0)
        #expect(try await fetch(server, "/303", downloader, change).bytes == 10)
        #expect(other.requests.first?.headers["content-length"] == nil)
    }

    @Test func `keeps cookies during its own redirects only, and only with the option`() async throws {
        let server = try OriginServer([
            "/in": OriginReply.body([], status: 302, [("Location", "/out"), ("Set-Cookie", "id=7; Path=/")]),
            "/out": .body(noise(10)),
        ])
        let downloader = ImageDownloader(for: server)
        _ = try await fetch(server, "/in", downloader) { $0.handlesCookies = true }
        _ = try await fetch(server, "/in", downloader) { $0.handlesCookies = true }
        _ = try await fetch(server, "/in", downloader) { _ in }
        let seen = server.requests.map { $0.target + " " + ($0.headers["cookie"] ?? "-") }
        #expect(seen == ["/in -", "/out id=7", "/in -", "/out id=7", "/in -", "/out -"])
    }

    @Test func `checks responses by modifier, status and media type, in this order (test24, test29)`() async throws {
        let server = try OriginServer([
            "/404": .body(noise(10), status: 404), "/ok": .body(noise(10), [("Content-Type", "image/JPEG; q=1")]),
        ])
        let good = try await fetch(server, "/404") {
            $0.rules.modifier = { head in
                var head = head
                head.status = 200
                head.headers = [HeaderField("Biz", "Bazz")]
                return head
            }
        }
        #expect(good.status == 200)
        #expect(good.headers == [HeaderField("Biz", "Bazz")])
        #expect(good.bytes == 10)
        let made = await failure(server, "/ok") {
            $0.rules.modifier = { head in
                var head = head
                head.status = 404
                return head
            }
        }
        #expect(made?.row == "SDWebImageErrorDomain 2001")
        #expect(made?.httpStatus == 404)
        #expect(await failure(server, "/ok") { $0.rules.modifier = { _ in nil } }?.row == "SDWebImageErrorDomain 2003")
        #expect(await failure(server, "/ok") { $0.rules.statuses = 1..<2 }?.row == "SDWebImageErrorDomain 2001")
        let type = await failure(server, "/ok") { $0.rules.mediaTypes = ["application/json"] }
        #expect(type?.row == "SDWebImageErrorDomain 2004")
        #expect(try await fetch(server, "/ok") { $0.rules.mediaTypes = ["image/jpeg"] }.bytes == 10)
    }

    @Test func `ends a body whose first bytes declare a size over the limit`() async throws {
        let server = try OriginServer([
            "/x": OriginReply([.bytes(OriginReply.head(200, [("Content-Length", "1000000")]) + noise(5000)), .hang]),
            "/y": .body(noise(100_000)),
        ])
        let error = await failure(server, "/x") {
            $0.inspects = { $0.count < 5000 ? .undecided : .refused(.pixelsExceeded, "9 pixels exceed the limit of 8") }
        }
        #expect(error?.row == "LarderErrorDomain 202")
        #expect(error?.message.hasSuffix(": 9 pixels exceed the limit of 8") == true)
        // An inspection that stays undecided does not end the download.
        let most = Locked(0)
        let result = try await fetch(server, "/y") {
            $0.inspectedBytes = 20_000
            $0.inspects = { bytes in
                most.withLock { $0 = max($0, bytes.count) }
                return .undecided
            }
        }
        #expect(result.sha256 == sha256(noise(100_000)))
        #expect(most.withLock { $0 } == 20_000)
    }

    @Test func `has an idle limit in milliseconds and a deadline that includes waiting`() async throws {
        let server = try OriginServer(["/silent": .silent, "/busy": .silent, "/waiting": .silent])
        let idle = await failure(server, "/silent") { $0.limits = limits { $0.idle = .milliseconds(80) } }
        #expect(idle?.row == "NSURLErrorDomain -1001")
        #expect(idle?.message.hasSuffix("silent for the idle limit of 0.08 seconds") == true)
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.transfers = 1
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await downloader.failure(server.url("/busy")) }
            await server.waitForRequests("/busy")
            let late = await failure(server, "/waiting", downloader) { $0.deadline = .now + .milliseconds(80) }
            #expect(late?.row == "NSURLErrorDomain -1001")
            #expect(late?.message.hasSuffix("not done at its deadline") == true)
            group.cancelAll()
        }
        #expect(server.count("/waiting") == 0)
    }

    @Test
    func `with a progress interval of 0.51 has at most four reports: start, head, one between, end (test17)`()
        async throws
    {
        let gate = OriginGate()
        let body = noise(1000)
        let head = OriginReply.head(200, [("Content-Length", "1000")])
        let server = try OriginServer([
            "/x": OriginReply(
                [.bytes(head)] + stride(from: 0, to: 600, by: 60).map { .bytes(Array(body[$0..<($0 + 60)])) }
                    + [.wait(gate)] + [.bytes(Array(body[600...]))])
        ])
        let reports = Locked<[FetchProgress]>([])
        _ = try await fetch(server, "/x") {
            $0.progressFraction = 0.51
            $0.progressInterval = .zero
            $0.progress = { report in
                reports.withLock { $0.append(report) }
                if report.received >= 510 { gate.openUp() }
            }
        }
        let all = reports.withLock { $0 }
        #expect(all.map(\.webImageExpected) == [-1, 1000, 1000, 1000])
        #expect(all.map(\.received).prefix(2) == [0, 0])
        #expect(all.last?.received == 1000)
        #expect((510..<1000).contains(all[2].received))
    }

    @Test func `reports progress before the request, with the head and at the end`() async throws {
        let server = try OriginServer(["/x": .body(noise(100_000)), "/c": .chunked([noise(30_000), noise(500)])])
        let reports = Locked<[FetchProgress]>([])
        for (target, total, expected) in [("/x", Int64(100_000), Int64?(100_000)), ("/c", 30_500, nil)] {
            reports.withLock { $0 = [] }
            _ = try await fetch(server, target) {
                $0.progressInterval = .seconds(3600)
                $0.progress = { report in reports.withLock { $0.append(report) } }
            }
            #expect(
                reports.withLock { $0 } == [
                    FetchProgress(received: 0, expected: nil, hasResponse: false),
                    FetchProgress(received: 0, expected: expected), FetchProgress(received: total, expected: expected),
                ])
        }
    }
}
