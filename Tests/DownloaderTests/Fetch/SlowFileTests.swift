import Concurrency
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Downloader

/// Downloads into a file whose writes block, as on a slow network file system.
@Suite(.timeLimit(.minutes(5)))
struct SlowFileTests {
    /// A pipe that takes 64 KiB, and more only while it is read.
    private final class SlowFile: Sendable {
        let writer: Int32
        private let reader: Int32
        private let pool = ThreadPool(name: "slow-file", threads: 1)

        init() throws {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
            (reader, writer) = (ends[0], ends[1])
        }

        deinit {
            close(reader)
            close(writer)
        }

        /// Returns once a write blocks.
        func fills() async -> Bool {
            await reached {
                var count = Int32(0)
                return ioctl(reader, UInt(FIONREAD), &count) == 0 && count == 64 << 10
            }
        }

        /// Reads `count` bytes.
        func read(_ count: Int) async -> [UInt8] {
            await pool.run { [reader] in
                var bytes: [UInt8] = []
                var piece = [UInt8](repeating: 0, count: 16 << 10)
                while bytes.count < count {
                    let read = Glibc.read(reader, &piece, min(piece.count, count - bytes.count))
                    guard read > 0 else { break }
                    bytes += piece[..<read]
                }
                return bytes
            }
        }

        /// The reader leaves.
        func closeReader() throws {
            let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
            dup2(null, reader)
            close(null)
        }
    }

    private let body = noise(1 << 20)

    @Test func `a file whose write blocks delays no other download`() async throws {
        let server = try OriginServer(["/slow": .body(body), "/x": .body(noise(100_000))])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let file = try SlowFile()
        async let slow = downloader.fetch(FetchRequest(server.url("/slow")), into: file.writer)
        #expect(await file.fills())
        try await withThrowingTaskGroup(of: FetchResponse.self) { group in
            for _ in 0..<20 { group.addTask { try await downloader.fetch(server.url("/x")) } }
            for try await result in group { #expect(result.sha256 == sha256(noise(100_000))) }
        }
        #expect(await file.read(body.count) == body)
        #expect(try await slow.sha256 == sha256(body))
    }

    @Test(arguments: [
        limits {
            $0.idle = .seconds(1)
            $0.total = .seconds(300)
        },
        limits {
            $0.idle = .seconds(300)
            $0.total = .seconds(3)
        },
    ])
    func `while a file has no room, little is received and neither the idle nor the total limit counts`(
        limits: FetchLimits
    ) async throws {
        let server = try OriginServer(["/slow": .body(body), "/silent": .silent])
        let downloader = ImageDownloader(for: server, limits: limits)
        let file = try SlowFile()
        var request = FetchRequest(server.url("/slow"))
        let received = Locked(Int64(0))
        request.progressInterval = .zero
        request.progress = { step in received.withLock { $0 = step.received } }
        async let slow = downloader.fetch(request, into: file.writer)
        #expect(await file.fills())
        // Each ends after a time that is too long for the slow one, too.
        for _ in 0..<2 { #expect(await downloader.failure(server.url("/silent"))?.row == "NSURLErrorDomain -1001") }
        #expect(received.withLock { $0 } < 512 << 10)
        #expect(await file.read(body.count) == body)
        #expect(try await slow.bytes == body.count)
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `a file whose write blocks delays no other stream of its HTTP/2 connection`() async throws {
        let server = try NginxServer(files: ["slow": body, "x": noise(100_000)], tls: true)
        var configuration = FetchConfiguration(policy: loopback(server.port), limits: longLimits)
        configuration.authorities = server.certificate
        configuration.transfersPerOrigin = 1
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        #expect(try await downloader.fetch(server.url("/x")).httpMajor == 2)
        let file = try SlowFile()
        async let slow = downloader.fetch(FetchRequest(server.url("/slow")), into: file.writer)
        #expect(await file.fills())
        try await withThrowingTaskGroup(of: FetchResponse.self) { group in
            for _ in 0..<20 { group.addTask { try await downloader.fetch(server.url("/x")) } }
            for try await result in group { #expect(result.sha256 == sha256(noise(100_000))) }
        }
        #expect(await file.read(body.count) == body)
        #expect(try await slow.sha256 == sha256(body))
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `when the bodies that wait have too many bytes, an HTTP/2 connection is paused and then continues`()
        async throws
    {
        let server = try NginxServer(files: ["slow": body, "x": noise(100_000)], tls: true)
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.authorities = server.certificate
        configuration.transfersPerOrigin = 1
        configuration.waitingBytes = 0
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        #expect(try await downloader.fetch(server.url("/x")).httpMajor == 2)
        let file = try SlowFile()
        async let slow = downloader.fetch(FetchRequest(server.url("/slow")), into: file.writer)
        #expect(await file.fills())
        try await withThrowingTaskGroup(of: FetchResponse.self) { group in
            for _ in 0..<20 { group.addTask { try await downloader.fetch(server.url("/x")) } }
            #expect(await file.read(body.count) == body)
            for try await result in group { #expect(result.sha256 == sha256(noise(100_000))) }
        }
        #expect(try await slow.sha256 == sha256(body))
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `transfers whose files have room again before they are paused continue`() async throws {
        let body = noise(8 << 20)
        let server = try NginxServer(files: ["x": body])
        var configuration = FetchConfiguration(policy: loopback(server.port), limits: longLimits)
        configuration.transfersPerOrigin = 32
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        var request = FetchRequest(server.url("/x"))
        request.mayShare = false
        try await withThrowingTaskGroup(of: Int.self) { [request] group in
            for _ in 0..<64 { group.addTask { try await downloader.fetch(request, into: null).bytes } }
            for try await bytes in group { #expect(bytes == body.count) }
        }
    }

    @Test func `a failure of the last write fails the download`() async throws {
        let server = try OriginServer(["/x": .body(noise(1000)), "/long": .body(body)])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        for path in ["/x", "/long"] {
            let error = await #expect(throws: FetchError.self) {
                try await downloader.fetch(FetchRequest(server.url(path)), into: full)
            }
            #expect(error?.row == "LarderErrorDomain 501")
            #expect(error?.message.hasSuffix("written to /dev/full: No space left on device (errno 28)") == true)
        }
        let file = try SlowFile()
        try file.closeReader()
        let error = await #expect(throws: FetchError.self) {
            try await downloader.fetch(FetchRequest(server.url("/x")), into: file.writer)
        }
        #expect(error?.row == "LarderErrorDomain 403")
        #expect(error?.message.contains("Broken pipe") == true)
    }

    @Test func `a file that fails while nothing arrives ends its download`() async throws {
        let head = OriginReply.head(200, [("Content-Length", "200000")])
        let server = try OriginServer(["/x": OriginReply([.bytes(head + noise(100_000)), .hang])])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let error = await #expect(throws: FetchError.self) {
            try await downloader.fetch(FetchRequest(server.url("/x")), into: full)
        }
        #expect(error?.row == "LarderErrorDomain 501")
    }

    @Test func `a cancelled download ends when the write that is under way has ended`() async throws {
        let server = try OriginServer(["/slow": .body(body), "/x": .body(noise(10))])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        let file = try SlowFile()
        await withTaskGroup(of: FetchError?.self) { group in
            group.addTask {
                await #expect(throws: FetchError.self) {
                    try await downloader.fetch(FetchRequest(server.url("/slow")), into: file.writer)
                }
            }
            #expect(await file.fills())
            group.cancelAll()
            #expect(await reached { await downloader.currentDownloadCount == 0 })
            #expect(await downloader.failure(server.url("/x")) == nil)
            try? file.closeReader()
            #expect(await group.next()??.row == "SDWebImageErrorDomain 2002")
        }
    }

    @Test func `requests that join after a part was written have all bytes, also without it in memory`() async throws {
        let gate = OriginGate()
        let server = try OriginServer([
            "/x": OriginReply([
                .bytes(OriginReply.head(200, [("Content-Length", "\(body.count)")]) + body[..<500_000]), .wait(gate),
                .bytes(Array(body[500_000...])),
            ])
        ])
        let downloader = ImageDownloader(for: server, limits: longLimits)
        var first = FetchRequest(server.url("/x"))
        let (stream, half) = AsyncStream<Void>.makeStream()
        first.progressInterval = .zero
        first.progress = { if $0.received >= 500_000 { half.yield() } }
        var reachesHalf = stream.makeAsyncIterator()
        let files = (0..<3).map { _ in BodyFile() }
        try await withThrowingTaskGroup(of: FetchResponse.self) { group in
            group.addTask { [first] in try await downloader.fetch(first, into: files[0]) }
            await reachesHalf.next()
            for file in files.dropFirst() {
                group.addTask { try await downloader.fetch(FetchRequest(server.url("/x")), into: file) }
            }
            #expect(await reached { await downloader.subscriberCount >= 3 })
            gate.openUp()
            for try await result in group { #expect(result.sha256 == sha256(body)) }
        }
        #expect(files.allSatisfy { $0.bytes == body })
        #expect(server.count("/x") == 1)
    }
}
