import Concurrency
import Glibc
import TestSupport
import Testing

@testable import Downloader

/// SDWebImage's coalescing (spec section 3.4), by files of their own.
@Suite("Equal downloads", .timeLimit(.minutes(5)))
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

    private func request(_ server: OriginServer, _ file: BodyFile, _ target: String = "/x") throws -> FetchRequest {
        FetchRequest(url: try SourceURL(server.url(target)), descriptor: file.descriptor)
    }

    /// A request that tells when half of the body is there.
    private func watched(
        _ server: OriginServer, _ file: BodyFile
    ) throws -> (FetchRequest, AsyncStream<Void>.AsyncIterator) {
        var request = try request(server, file)
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        request.progressInterval = .zero
        request.progress = { if $0.received >= 100_000 { continuation.yield() } }
        return (request, stream.makeAsyncIterator())
    }

    @Test("share one transfer, later ones included; each has all bytes in its own file")
    func sharing() async throws {
        let gate = OriginGate()
        let server = try halting(gate)
        let downloader = ImageDownloader(for: server, limits: patient)
        let files = (0..<5).map { _ in BodyFile() }
        let (first, half) = try watched(server, files[0])
        var reachesHalf = half
        try await withThrowingTaskGroup(of: FetchedBody.self) { group in
            group.addTask { try await downloader.fetch(first) }
            await reachesHalf.next()
            for file in files.dropFirst() {
                let late = try request(server, file)
                group.addTask { try await downloader.fetch(late) }
            }
            #expect(await reached { await downloader.waiterCount >= 5 })
            gate.openUp()
            for try await result in group {
                #expect(result.sha256 == sha256(body))
                #expect(result.bytes == 200_000)
                #expect(result.shared)
            }
        }
        #expect(files.allSatisfy { $0.bytes == body })
        #expect(server.count("/x") == 1)
    }

    @Test("when the first is cancelled with 2002, the second receives its body (test20 of SDWebImageDownloaderTests)")
    func firstLeaves() async throws {
        let gate = OriginGate()
        let server = try halting(gate)
        let downloader = ImageDownloader(for: server, limits: patient)
        let (own, other) = (BodyFile(), BodyFile())
        let (first, half) = try watched(server, own)
        var reachesHalf = half
        let second = try request(server, other)
        await withTaskGroup(of: Result<FetchedBody, any Error>.self) { waiting in
            await withTaskGroup(of: Result<FetchedBody, any Error>.self) { leaving in
                leaving.addTask { await result { try await downloader.fetch(first) } }
                await reachesHalf.next()
                waiting.addTask { await result { try await downloader.fetch(second) } }
                #expect(await reached { await downloader.waiterCount >= 2 })
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

    private func result(_ fetch: () async throws -> FetchedBody) async -> Result<FetchedBody, any Error> {
        do { return .success(try await fetch()) } catch { return .failure(error) }
    }

    @Test("when all are cancelled the transfer ends, and the next starts a new one (test21)")
    func allLeave() async throws {
        let server = try OriginServer()
        server.on(
            "/x", OriginReply([.bytes(OriginReply.head(200, [("Content-Length", "9")]) + [1]), .hang]),
            .body(noise(9)))
        let downloader = ImageDownloader(for: server, limits: patient)
        let requests = try (0..<3).map { _ throws in try request(server, BodyFile.sink) }
        await withTaskGroup(of: FetchError?.self) { group in
            for request in requests {
                group.addTask { await #expect(throws: FetchError.self) { try await downloader.fetch(request) } }
            }
            await server.waitForRequests("/x")
            group.cancelAll()
            for await error in group { #expect(error?.row == "SDWebImageErrorDomain 2002") }
        }
        #expect(try await downloader.fetch(try request(server, BodyFile.sink)).bytes == 9)
        #expect(server.count("/x") == 2)
    }

    @Test("eleven requests of an empty body fail with 1001 each (test31)")
    func failures() async throws {
        let server = try OriginServer(["/empty": .body([])])
        let downloader = ImageDownloader(for: server, limits: patient)
        await withTaskGroup(of: FetchError?.self) { group in
            for _ in 0..<11 {
                group.addTask {
                    await #expect(throws: FetchError.self) {
                        try await downloader.fetch(try request(server, BodyFile.sink, "/empty"))
                    }
                }
            }
            for await error in group { #expect(error?.row == "SDWebImageErrorDomain 1001") }
        }
    }

    @Test("one that joins after the head reports the rest only (vectors, progress of a late joiner)")
    func lateProgress() async throws {
        let gate = OriginGate()
        let server = try halting(gate)
        let downloader = ImageDownloader(for: server, limits: patient)
        let (own, file) = (BodyFile(), BodyFile())
        let (first, half) = try watched(server, own)
        var reachesHalf = half
        var late = try request(server, file)
        let words = Locked<[FetchProgress]>([])
        late.progressInterval = .zero
        late.progress = { word in words.withLock { $0.append(word) } }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await downloader.fetch(first) }
            await reachesHalf.next()
            group.addTask { [late] in _ = try? await downloader.fetch(late) }
            #expect(await reached { await downloader.waiterCount >= 2 })
            gate.openUp()
        }
        let heard = words.withLock { $0 }
        #expect(heard.allSatisfy { $0.received > 100_000 && $0.expected == 200_000 })
        #expect(heard.last?.received == 200_000)
        #expect(own.bytes == file.bytes && file.bytes == body)
    }

    @Test("a full disk fails one, a refused format another, the third receives its body")
    func ownFailures() async throws {
        let gate = OriginGate()
        let server = try halting(gate)
        let downloader = ImageDownloader(for: server, limits: patient)
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        var unlucky = try request(server, BodyFile.sink)
        unlucky.descriptor = full
        var choosy = try request(server, BodyFile.sink)
        choosy.accepts = { _ in false }
        let file = BodyFile()
        let (good, half) = try watched(server, file)
        var reachesHalf = half
        let failing = [(unlucky, "LarderErrorDomain 403"), (choosy, "SDWebImageErrorDomain 1001")]
        await withTaskGroup(of: Void.self) { group in
            for (request, row) in failing {
                group.addTask {
                    let error = await #expect(throws: FetchError.self) { try await downloader.fetch(request) }
                    #expect(error?.row == row)
                }
            }
            group.addTask {
                let result = try? await downloader.fetch(good)
                #expect(result?.sha256 == sha256(body))
            }
            await reachesHalf.next()
            gate.openUp()
        }
        #expect(file.bytes == body)
    }

    @Test("a different header, limit, policy, profile or rule makes requests unequal")
    func incompatible() throws {
        let url = try SourceURL("https://a.example/x")
        let base = HTTPRequest(
            url: url, addresses: [], limits: FetchLimits(), timeLeft: .seconds(1), policy: AddressPolicy())
        #expect(base.canServe(base))
        let changes: [(inout HTTPRequest) -> Void] = [
            { $0.headers = [HeaderField("Accept", "image/webp")] }, { $0.method = "POST" }, { $0.body = [1] },
            { $0.cookies = [] }, { $0.credentials = CredentialProfile(origins: [url.origin]) },
            { $0.allowsInvalidCertificates = true }, { $0.revalidates = true }, { $0.rules.statuses = 200..<400 },
            { $0.rules.modifier = { $0 } }, { $0.mayShare = false },
        ]
        for (number, change) in changes.enumerated() {
            var other = base
            change(&other)
            #expect(!base.canServe(other) && !other.canServe(base), "change \(number)")
        }
        var urgent = base
        urgent.priority = .high
        #expect(base.canServe(urgent))
        let elsewhere = HTTPRequest(
            url: url, addresses: [], limits: limits { $0.body = 1 }, timeLeft: .seconds(1), policy: AddressPolicy())
        #expect(!base.canServe(elsewhere))
        let opened = HTTPRequest(
            url: url, addresses: [], limits: FetchLimits(), timeLeft: .seconds(1), policy: loopback(1))
        #expect(!base.canServe(opened))
    }
}
