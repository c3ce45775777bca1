import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct TransferTests {
    @Test func `an origin has at most four connections, and all downloads are complete`() async throws {
        let server = try OriginServer(["/x": .body(noise(5000))])
        let downloader = ImageDownloader(for: server)
        let url = server.url("/x")
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await downloader.fetch(url).bytes } }
            for try await bytes in group { #expect(bytes == 5000) }
        }
        #expect(server.count("/x") == 100)
        #expect(server.maximumConnections <= 4)
        #expect(server.maximumConnections > 1)
    }

    @Test func `an origin that hangs does not delay another one`() async throws {
        let stuck = try OriginServer(["/": .silent])
        let healthy = try OriginServer(["/": .body(noise(10))])
        // Longer than the test: on a busy machine a time-out of the silent transfers would let others start.
        var limits = FetchLimits()
        limits.idle = .seconds(300)
        limits.total = .seconds(300)
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(stuck.port, healthy.port), limits: limits),
            resolver: StubResolver([:]))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = await downloader.failure(stuck.url("/")) } }
            await stuck.waitForRequests("/", count: 4)
            for _ in 0..<20 { #expect(await downloader.failure(healthy.url("/")) == nil) }
            // Before the cancellation, which is sequential: a free connection goes to a waiting transfer.
            #expect(stuck.count("/") == 4)
            group.cancelAll()
        }
    }

    @Test func `a cancelled download ends at once with 2002 and no longer writes its file`() async throws {
        let gate = OriginGate()
        let server = try OriginServer([
            "/x": OriginReply([
                .bytes(OriginReply.head(200, [("Content-Length", "200000")]) + noise(100)), .wait(gate),
                .bytes(noise(199_900)),
            ]),
            "/y": .body(noise(10)),
        ])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let file = BodyFile()
        let begun = AsyncStream<Void>.makeStream()
        await withTaskGroup(of: FetchError?.self) { group in
            group.addTask {
                await downloader.failure(server.url("/x"), into: file) { _ in
                    begun.continuation.yield()
                    return true
                }
            }
            var starts = begun.stream.makeAsyncIterator()
            await starts.next()
            group.cancelAll()
            let next = await group.next()
            #expect(next??.row == "SDWebImageErrorDomain 2002")
        }
        let size = file.bytes.count
        gate.openUp()
        // Another transfer on the same thread starts and ends after the gate opened.
        _ = try await downloader.fetch(server.url("/y"))
        #expect(file.bytes.count == size)
    }

    @Test
    func `downloads cancelled while they wait or before they begin end with 2002 and send nothing`() async throws {
        let server = try OriginServer(["/x": .silent, "/waiting": .silent])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        await withTaskGroup(of: FetchError?.self) { running in
            for _ in 0..<4 { running.addTask { await downloader.failure(server.url("/x")) } }
            await server.waitForRequests("/x", count: 4)
            await withTaskGroup(of: FetchError?.self) { waiting in
                for _ in 0..<10 { waiting.addTask { await downloader.failure(server.url("/waiting")) } }
                waiting.cancelAll()
                waiting.addTask { await downloader.failure(server.url("/waiting")) }
                for await error in waiting { #expect(error?.row == "SDWebImageErrorDomain 2002") }
            }
            running.cancelAll()
            for await error in running { #expect(error?.row == "SDWebImageErrorDomain 2002") }
        }
        #expect(server.count("/waiting") == 0)
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `200 downloads from nginx over kept connections have the right digests`() async throws {
        var files: [String: [UInt8]] = [:]
        for number in 0..<200 { files["\(number).bin"] = noise(1 + number * 997, seed: UInt64(number + 1)) }
        let server = try NginxServer(files: files)
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(server.port)), resolver: StubResolver([:]))
        let reused = try await withThrowingTaskGroup(of: Bool.self) { group -> Int in
            for (name, bytes) in files {
                group.addTask {
                    let file = BodyFile()
                    let result = try await downloader.fetch(server.url("/\(name)"), into: file)
                    #expect(result.sha256 == sha256(bytes))
                    #expect(file.bytes == bytes)
                    return result.isConnectionReused
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(reused >= 196)
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `nginx is used over TLS and HTTP/2 when its certificate is trusted`() async throws {
        let server = try NginxServer(
            files: ["a": noise(100_000)], tls: true,
            locations: "location /down { return 302 http://127.0.0.1:8080/; } location /up { return 302 /a; }")
        let policy = loopback(server.port)
        let stranger = ImageDownloader(FetchConfiguration(policy: policy), resolver: StubResolver([:]))
        #expect(await stranger.failure(server.url("/a"))?.row == "NSURLErrorDomain -1202")

        var configuration = FetchConfiguration(policy: policy)
        configuration.authorities = server.certificate
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        let results = try await withThrowingTaskGroup(of: FetchResponse.self) { group -> [FetchResponse] in
            for _ in 0..<50 { group.addTask { try await downloader.fetch(server.url("/a")) } }
            return try await group.reduce([]) { $0 + [$1] }
        }
        #expect(results.allSatisfy { $0.httpMajor == 2 && $0.sha256 == sha256(noise(100_000)) })
        #expect(results.filter { !$0.isConnectionReused }.count <= 4)
        #expect(try await downloader.fetch(server.url("/up")).redirects == 1)
        #expect(await downloader.failure(server.url("/down"))?.row == "LarderErrorDomain 103")
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `the idle limit does not count the wait for a stream of a full HTTP/2 connection`() async throws {
        let body = noise(30)
        let slow = OriginReply([
            .bytes(OriginReply.head(200, [("Content-Length", "\(body.count)")])),
            .drip(body, interval: .milliseconds(100)),
        ])
        let origin = try OriginServer(["/slow": slow, "/fast": .body(body)])
        let server = try NginxServer(
            tls: true,
            locations: """
                http2_max_concurrent_streams 1;
                location / { proxy_pass http://127.0.0.1:\(origin.port); proxy_buffering off; }
                """)
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.authorities = server.certificate
        configuration.transfersPerOrigin = 1
        configuration.limits.idle = .seconds(1)
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        #expect(try await downloader.fetch(server.url("/fast")).httpMajor == 2)
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { try await downloader.fetch(server.url("/slow")).bytes }
            await origin.waitForRequests("/slow")
            for number in 0..<4 {
                group.addTask { try await downloader.fetch(server.url("/fast?\(number)")).bytes }
                origin.on("/fast?\(number)", .body(body))
            }
            for try await bytes in group { #expect(bytes == body.count) }
        }
    }

    @Test func `behind a plain proxy the limit of connections is each origin's`() async throws {
        let gate = OriginGate()
        let proxy = try OriginServer()
        let urls = (0..<5).flatMap { host in (0..<4).map { "http://host\(host).test/\($0)" } }
        for url in urls { proxy.on(url, OriginReply([.wait(gate)] + OriginReply.body(noise(10)).steps)) }
        var configuration = FetchConfiguration()
        configuration.proxy = try FetchProxy("http://127.0.0.1:\(proxy.port)")
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        try await withThrowingTaskGroup(of: Int.self) { group in
            for url in urls { group.addTask { try await downloader.fetch(url).bytes } }
            for url in urls { await proxy.waitForRequests(url) }
            gate.openUp()
            for try await bytes in group { #expect(bytes == 10) }
        }
        #expect(proxy.maximumConnections == 20)
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `a connection with an unchecked certificate serves only requests that allow it`() async throws {
        let server = try NginxServer(files: ["a": noise(1000)], tls: true)
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.allowsInvalidCertificates = true
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        var careless = FetchRequest(server.url("/a"))
        careless.allowsInvalidCertificates = true
        #expect(try await downloader.fetch(careless).httpMajor == 2)
        #expect(await downloader.failure(server.url("/a"))?.row == "NSURLErrorDomain -1202")
        #expect(try await downloader.fetch(careless).isConnectionReused)
    }

    @Test func `a hundred cancelled downloads end with 2002, close their connections and write nothing`() async throws {
        // An endless body: a transfer that continued would show in its connection and in its file.
        let head = OriginReply.head(200, [("Content-Length", "100000")])
        let server = try OriginServer([
            "/stuck": OriginReply([.bytes(head), .drip(noise(100_000), interval: .milliseconds(2))]),
            "/x": .body(noise(10)),
        ])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let files = (0..<100).map { _ in BodyFile() }
        await withTaskGroup(of: FetchError?.self) { group in
            for file in files { group.addTask { await downloader.failure(server.url("/stuck"), into: file) } }
            await server.waitForRequests("/stuck", count: 4)
            #expect(await reached { await downloader.subscriberCount >= 100 })
            #expect(server.count("/stuck") == 4)
            group.cancelAll()
            for await error in group { #expect(error?.row == "SDWebImageErrorDomain 2002") }
        }
        #expect(await downloader.currentDownloadCount == 0)
        let written = files.map { $0.bytes.count }
        // The peer has closed each connection; an open one would end this test by its time limit.
        await server.waitForLeave()
        #expect(await downloader.failure(server.url("/x")) == nil)
        #expect(files.map { $0.bytes.count } == written)
    }

    @Test func `a running download is counted until it is cancelled (test11)`() async throws {
        let server = try OriginServer(["/x": .silent, "/y": .silent])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        #expect(await downloader.currentDownloadCount == 0)
        await withTaskGroup(of: FetchError?.self) { group in
            group.addTask { await downloader.failure(server.url("/x")) }
            await server.waitForRequests("/x")
            #expect(await downloader.currentDownloadCount == 1)
            group.cancelAll()
            #expect(await group.next()??.row == "SDWebImageErrorDomain 2002")
        }
        #expect(await downloader.currentDownloadCount == 0)
    }

    @Test func `cancelling all downloads ends running and waiting ones, but not later ones (test11)`() async throws {
        let server = try OriginServer(["/x": .silent, "/y": .body(noise(10))])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        await withTaskGroup(of: FetchError?.self) { group in
            for _ in 0..<10 { group.addTask { await downloader.failure(server.url("/x")) } }
            #expect(await reached { await downloader.currentDownloadCount >= 10 })
            await server.waitForRequests("/x", count: 4)
            await downloader.cancelAllDownloads()
            for await error in group { #expect(error?.row == "SDWebImageErrorDomain 2002") }
        }
        #expect(await downloader.currentDownloadCount == 0)
        #expect(server.count("/x") == 4)
        #expect(await downloader.failure(server.url("/y")) == nil)
    }

    @Test func `while suspended nothing starts and running transfers continue (spec 3.3)`() async throws {
        let gate = OriginGate()
        let server = try OriginServer([
            "/x": OriginReply([.wait(gate)] + OriginReply.body(noise(10)).steps), "/y": .body(noise(10)),
        ])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        await withTaskGroup(of: FetchError?.self) { group in
            group.addTask { await downloader.failure(server.url("/x")) }
            await server.waitForRequests("/x")
            await downloader.suspend(true)
            async let waiting = downloader.failure(server.url("/y"))
            #expect(await reached { await downloader.currentDownloadCount >= 2 })
            gate.openUp()
            #expect(await group.next() == .some(nil))
            #expect(server.count("/y") == 0)
            await downloader.suspend(false)
            #expect(await waiting == nil)
        }
        #expect(server.count("/y") == 1)
    }

    @Test(.enabled(if: NginxServer.program != nil), arguments: [false, true])
    func `nginx responds with 304 and with ranges, over HTTP/1.1 and HTTP/2`(tls: Bool) async throws {
        let body = noise(30_000)
        let server = try NginxServer(files: ["a": body], tls: tls)
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.authorities = server.certificate
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        let first = try await downloader.fetch(server.url("/a"))
        #expect(first.httpMajor == (tls ? 2 : 1))
        let known = [
            Validators(etag: first.etag), Validators(lastModified: first.lastModified),
            Validators(etag: first.etag, lastModified: first.lastModified),
        ]
        for validators in known {
            var request = FetchRequest(server.url("/a"))
            request.validators = validators
            #expect(try await downloader.fetch(request).isNotModified)
        }
        // The request that a resumption sends.
        let resumption = try #require(Resumption(head: first.headers, offset: 10_000, total: 30_000))
        let file = BodyFile()
        var request = FetchRequest(server.url("/a"))
        request.headers = resumption.headers
        let part = try await downloader.fetch(request, into: file)
        #expect(part.status == 206)
        #expect(file.bytes == Array(body[10_000...]))
        #expect(resumption.judge(ResponseHead(status: part.status ?? 0, headers: part.headers)) == .rest)
    }
}
