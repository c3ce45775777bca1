import TestSupport
import Testing

@testable import Downloader

/// Servers whose HTTP/2 fails, and the fallback to HTTP/1.1.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2FaultTests {
    private let start = ContinuousClock.now

    @Test func `HTTP/2 is avoided for an hour after two failures in a row`() {
        var http2 = HTTP2Fallback()
        http2.fail(began: start, at: start + .seconds(1))
        #expect(!http2.isAvoided(at: start + .seconds(1)))
        http2.fail(began: start + .seconds(2), at: start + .seconds(3))
        #expect(http2.isAvoided(at: start + .seconds(3)))
        #expect(http2.isAvoided(at: start + .seconds(3602)))
        #expect(!http2.isAvoided(at: start + .seconds(3603)))
        #expect(http2.isForgettable(at: start + .seconds(3603)))
        // The count starts again: one failure does not suffice.
        http2.fail(began: start + .seconds(4000), at: start + .seconds(4001))
        #expect(!http2.isAvoided(at: start + .seconds(4001)))
    }

    @Test func `failures of transfers that ran together count once`() {
        var http2 = HTTP2Fallback()
        for second in 1...8 { http2.fail(began: start, at: start + .seconds(second)) }
        #expect(!http2.isAvoided(at: start + .seconds(8)))
    }

    @Test func `a success cancels one failure unless it began before it`() {
        var http2 = HTTP2Fallback()
        http2.fail(began: start, at: start + .seconds(1))
        http2.succeed(began: start)
        #expect(!http2.isForgettable(at: start + .seconds(2)))
        http2.succeed(began: start + .seconds(2))
        #expect(http2.isForgettable(at: start + .seconds(2)))
    }

    private func downloader(_ server: BrokenHTTP2Server) -> ImageDownloader {
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.authorities = server.certificate
        return ImageDownloader(configuration, resolver: StubResolver([:]))
    }

    /// The number of HTTP/2 connections that a server accepted.
    private func connections(_ server: BrokenHTTP2Server, _ downloader: ImageDownloader) async throws -> Int? {
        let file = BodyFile()
        _ = try await downloader.fetch(server.url("/count"), into: file)
        return Int(String(decoding: file.bytes, as: UTF8.self))
    }

    @Test(.enabled(if: NginxServer.program != nil), arguments: BrokenHTTP2Server.Fault.allCases.filter { $0 != .half })
    func `one download fails, the next and all later ones use HTTP/1.1`(fault: BrokenHTTP2Server.Fault) async throws {
        let server = try BrokenHTTP2Server(fault)
        let downloader = downloader(server)
        let first = await downloader.failure(server.url("/a"))
        #expect(first?.row == "NSURLErrorDomain -1005", "libcurl \(first?.curlCode ?? 0)")
        let file = BodyFile()
        let second = try await downloader.fetch(server.url("/a"), into: file)
        #expect(second.httpMajor == 1)
        #expect(file.bytes == Array("fine".utf8))
        let before = try await connections(server, downloader)
        for _ in 0..<3 {
            let later = try await downloader.fetch(server.url("/a"))
            #expect(later.httpMajor == 1)
            #expect(later.isConnectionReused)
        }
        #expect(try await connections(server, downloader) == before)
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `a body that is cut short twice is continued over HTTP/1.1`() async throws {
        let server = try BrokenHTTP2Server(.half)
        let downloader = downloader(server)
        // Ten bytes, then ten bytes of another range: the third try, over HTTP/1.1, returns another body.
        let file = BodyFile()
        let result = try await downloader.fetch(server.url("/a"), into: file)
        #expect(result.httpMajor == 1)
        #expect(file.bytes == Array("fine".utf8))
    }
}
