import Concurrency
import Glibc
import TestSupport
import Testing

@testable import Downloader

/// SDWebImage's coalescing (spec section 3.4), with a file for each request.
@Suite(.timeLimit(.minutes(5)))
struct SharedTransferTests {
    private let body = noise(200_000)

    /// An origin that sends half of a body, and the rest when the gate opens.
    private func halting(_ gate: OriginGate) throws -> OriginServer {
        try OriginServer([
            "/x": OriginReply([
                .bytes(OriginReply.head(200, [("Content-Length", "\(body.count)")]) + body[..<100_000]), .wait(gate),
                .bytes(Array(body[100_000...])),
            ])
        ])
    }

    /// A request, and a stream that yields when half of the body has arrived.
    private func watched(_ server: OriginServer) -> (FetchRequest, AsyncStream<Void>.AsyncIterator) {
        var request = FetchRequest(server.url("/x"))
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        request.progressInterval = .zero
        request.progress = { if $0.received >= 100_000 { continuation.yield() } }
        return (request, stream.makeAsyncIterator())
    }

    @Test func `share one transfer, later ones included; each has all bytes in its own file`() async throws {
        let gate = OriginGate()
        let server = try halting(gate)
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let files = (0..<5).map { _ in BodyFile() }
        let (first, half) = watched(server)
        var reachesHalf = half
        try await withThrowingTaskGroup(of: FetchResponse.self) { group in
            group.addTask { try await downloader.fetch(first, into: files[0]) }
            await reachesHalf.next()
            for file in files.dropFirst() {
                group.addTask { try await downloader.fetch(FetchRequest(server.url("/x")), into: file) }
            }
            #expect(await reached { await downloader.subscriberCount >= 5 })
            gate.openUp()
            for try await result in group {
                #expect(result.sha256 == sha256(body))
                #expect(result.bytes == 200_000)
                #expect(result.isShared)
            }
        }
        #expect(files.allSatisfy { $0.bytes == body })
        #expect(server.count("/x") == 1)
    }

    @Test
    func `when the first is cancelled with 2002, the second receives its body (test20 of SDWebImageDownloaderTests)`()
        async throws
    {
        let gate = OriginGate()
        let server = try halting(gate)
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let (own, other) = (BodyFile(), BodyFile())
        let (first, half) = watched(server)
        var reachesHalf = half
        let second = FetchRequest(server.url("/x"))
        await withTaskGroup(of: Result<FetchResponse, any Error>.self) { waiting in
            await withTaskGroup(of: Result<FetchResponse, any Error>.self) { leaving in
                leaving.addTask { await result { try await downloader.fetch(first, into: own) } }
                await reachesHalf.next()
                waiting.addTask { await result { try await downloader.fetch(second, into: other) } }
                #expect(await reached { await downloader.subscriberCount >= 2 })
                leaving.cancelAll()
                let left = await leaving.next()
                let error = #expect(throws: FetchError.self) { try left?.get() }
                #expect(error?.row == "SDWebImageErrorDomain 2002")
            }
            let size = own.bytes.count
            gate.openUp()
            let arrived = await waiting.next()
            #expect((try? arrived?.get())?.sha256 == sha256(body))
            #expect(own.bytes.count == size)
        }
        #expect(other.bytes == body)
        #expect(server.count("/x") == 1)
    }

    private func result(_ fetch: () async throws -> FetchResponse) async -> Result<FetchResponse, any Error> {
        do { return .success(try await fetch()) } catch { return .failure(error) }
    }

    @Test func `when all are cancelled the transfer ends, and the next starts a new one (test21)`() async throws {
        let server = try OriginServer()
        server.on(
            "/x", OriginReply([.bytes(OriginReply.head(200, [("Content-Length", "9")]) + [1]), .hang]),
            .body(noise(9)))
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let request = FetchRequest(server.url("/x"))
        await withTaskGroup(of: FetchError?.self) { group in
            for _ in 0..<3 {
                group.addTask { await #expect(throws: FetchError.self) { try await downloader.fetch(request) } }
            }
            await server.waitForRequests("/x")
            group.cancelAll()
            for await error in group { #expect(error?.row == "SDWebImageErrorDomain 2002") }
        }
        #expect(try await downloader.fetch(request).bytes == 9)
        #expect(server.count("/x") == 2)
    }

    @Test func `eleven requests of an empty body fail with 1001 each (test31)`() async throws {
        let server = try OriginServer(["/empty": .body([])])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        await withTaskGroup(of: FetchError?.self) { group in
            for _ in 0..<11 {
                group.addTask {
                    await #expect(throws: FetchError.self) {
                        try await downloader.fetch(FetchRequest(server.url("/empty")))
                    }
                }
            }
            for await error in group { #expect(error?.row == "SDWebImageErrorDomain 1001") }
        }
    }

    @Test
    func `one that joins after the head reports the rest only (vectors, progress of a late joiner)`() async throws {
        let gate = OriginGate()
        let server = try halting(gate)
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let (own, file) = (BodyFile(), BodyFile())
        let (first, half) = watched(server)
        var reachesHalf = half
        var late = FetchRequest(server.url("/x"))
        let reports = Locked<[FetchProgress]>([])
        late.progressInterval = .zero
        late.progress = { report in reports.withLock { $0.append(report) } }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await downloader.fetch(first, into: own) }
            await reachesHalf.next()
            group.addTask { [late] in _ = try? await downloader.fetch(late, into: file) }
            #expect(await reached { await downloader.subscriberCount >= 2 })
            gate.openUp()
        }
        let heard = reports.withLock { $0 }
        #expect(heard.allSatisfy { $0.received > 100_000 && $0.expected == 200_000 })
        #expect(heard.last?.received == 200_000)
        #expect(own.bytes == file.bytes)
        #expect(file.bytes == body)
    }

    @Test func `a full disk fails one, a refused format another, the third receives its body`() async throws {
        let gate = OriginGate()
        let server = try halting(gate)
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let plain = FetchRequest(server.url("/x"))
        var refusing = plain
        refusing.inspects = verdict { _ in false }
        let file = BodyFile()
        let (good, half) = watched(server)
        var reachesHalf = half
        let failing = [
            (plain, full, "LarderErrorDomain 501"),
            (refusing, BodyFile.sink.descriptor, "SDWebImageErrorDomain 1001"),
        ]
        await withTaskGroup(of: Void.self) { group in
            for (request, file, row) in failing {
                group.addTask {
                    let error = await #expect(throws: FetchError.self) {
                        try await downloader.fetch(request, into: file)
                    }
                    #expect(error?.row == row)
                }
            }
            group.addTask {
                let result = try? await downloader.fetch(good, into: file)
                #expect(result?.sha256 == sha256(body))
            }
            await reachesHalf.next()
            gate.openUp()
        }
        #expect(file.bytes == body)
    }

    @Test func `a different header, limit, policy, profile or rule makes requests unequal`() throws {
        var configuration = FetchConfiguration()
        configuration.allowsInvalidCertificates = true
        configuration.credentials["cdn"] = CredentialProfile(origins: [try Origin(of: "https://a.example/")])
        let base = FetchRequest("https://a.example/x")
        func canServe(_ a: FetchRequest, _ b: FetchRequest) throws(FetchError) -> Bool {
            try HTTPRequest(a, configuration).canServe(HTTPRequest(b, configuration))
        }
        #expect(try canServe(base, base))
        let changes: [(inout FetchRequest) -> Void] = [
            { $0.headers = [HeaderField("Accept", "image/webp")] }, { $0.method = "POST" }, { $0.body = [1] },
            { $0.handlesCookies = true }, { $0.credentials = "cdn" }, { $0.allowsInvalidCertificates = true },
            { $0.validators = Validators(etag: "\"1\"") }, { $0.rules.statuses = 200..<400 },
            { $0.rules.modifier = { $0 } }, { $0.mayShare = false }, { $0.limits = limits { $0.body = 1 } },
            { $0.policy = loopback(1) },
        ]
        for (number, change) in changes.enumerated() {
            var other = base
            change(&other)
            #expect(try !canServe(base, other), "change \(number)")
            #expect(try !canServe(other, base), "change \(number)")
        }
        var urgent = base
        urgent.priority = .high
        #expect(try canServe(base, urgent))
    }
}
