import Foundation
import Glibc
import ImageModel
import TestSupport
import Testing

@testable import Downloader

/// Every row of the error table that a server can cause, and success.
@Suite(.timeLimit(.minutes(5)))
struct DownloadTests {
    @Test func `the bytes are in the file, digest and headers in the response`() async throws {
        let body = noise(300_000)
        let server = try OriginServer([
            "/a?b=c": .body(
                body,
                [
                    ("Content-Type", "image/png"), ("ETag", "\"x\u{e9}y\""), ("Last-Modified", "yesterday"),
                    ("X-Robots-Tag", "noai"),
                ])
        ])
        let file = BodyFile()
        let result = try await ImageDownloader(for: server).fetch(server.url("/a?b=c"), into: file)
        #expect(file.bytes == body)
        #expect(result.bytes == 300_000)
        #expect(result.sha256 == sha256(body))
        #expect(result.status == 200)
        #expect(result.headers["Content-Type"] == "image/png")
        #expect(result.etag == "\"x%C3%A9y\"")
        #expect(result.lastModified == "yesterday")
        #expect(result.robotsTag == "noai")
        #expect(result.redirects == 0)
        #expect(!result.isConnectionReused)
        let request = try #require(server.requests.first)
        #expect(request.headers["accept"] == "image/*,*/*;q=0.8")
        #expect(request.headers["user-agent"]?.hasPrefix("larder/") == true)
        #expect(request.headers["accept-encoding"] == "identity")
        #expect(request.headers["cookie"] == nil)
    }

    @Test func `the digest is SHA-256`() {
        #expect(
            SHA256Digest.hex(sha256(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func `a chunked body and a body after an early response (103) are complete`() async throws {
        let server = try OriginServer([
            "/c": .chunked([noise(10), noise(70_000), noise(1)]),
            "/early": .raw(
                OriginReply.head(103, [("Link", "x")]) + OriginReply.head(200, [("Content-Length", "1")]) + [7]),
        ])
        let file = BodyFile()
        let downloader = ImageDownloader(for: server)
        #expect(try await downloader.fetch(server.url("/c"), into: file).bytes == 70_011)
        #expect(file.bytes == noise(10) + noise(70_000) + noise(1))
        #expect(try await downloader.fetch(server.url("/early")).bytes == 1)
    }

    @Test(arguments: [304, 400, 404, 408, 425, 429, 500, 502, 503, 504, 300])
    func `a status outside 200 to 299 is 2001 with the status`(status: Int) async throws {
        let server = try OriginServer(["/s": .body(noise(20), status: status)])
        let file = BodyFile()
        let error = await ImageDownloader(for: server).failure(server.url("/s"), into: file)
        #expect(error?.row == "SDWebImageErrorDomain 2001")
        #expect(error?.httpStatus == status)
        #expect(error?.retryAfter == nil)
        #expect(file.bytes.isEmpty)
    }

    @Test func `Retry-After is read and limited to an hour, or to the configured time`() async throws {
        let server = try OriginServer([
            "/3": .status(503, [("Retry-After", "3")]), "/ages": .status(429, [("Retry-After", "999999")]),
            "/junk": .status(503, [("Retry-After", "soon")]),
        ])
        // One downloader for each case: a downloader remembers the protocol of an origin.
        #expect(await ImageDownloader(for: server).failure(server.url("/3"))?.retryAfter == .seconds(3))
        #expect(await ImageDownloader(for: server).failure(server.url("/ages"))?.retryAfter == .seconds(3600))
        #expect(await ImageDownloader(for: server).failure(server.url("/junk"))?.retryAfter == nil)
        var settings = OriginSettings()
        settings.longestHold = .seconds(2)
        var configuration = FetchConfiguration(policy: loopback(server.port))
        configuration.origins = settings
        let short = ImageDownloader(configuration, resolver: StubResolver([:]))
        #expect(await short.failure(server.url("/ages"))?.retryAfter == .seconds(2))
    }

    @Test func `a large error page is not read, a small one keeps the connection`() async throws {
        let server = try OriginServer([
            "/huge": .raw(OriginReply.head(404, [("Content-Length", "99999999999")]) + noise(100)),
            "/endless": .chunked(Array(repeating: noise(60_000), count: 40)), "/small": .body(noise(100), status: 404),
        ])
        let downloader = ImageDownloader(for: server)
        #expect(await downloader.failure(server.url("/huge"))?.httpStatus == 404)
        _ = await downloader.failure(server.url("/small"))
        _ = await downloader.failure(server.url("/small"))
        #expect(server.acceptedConnections == 2)
    }

    @Test(arguments: [200, 204, 206])
    func `an empty body and one that is not an image are 1001`(status: Int) async throws {
        let server = try OriginServer(["/empty": .body([], status: status), "/text": .body(Array("<html>".utf8))])
        let downloader = ImageDownloader(for: server)
        #expect(await downloader.failure(server.url("/empty"))?.row == "SDWebImageErrorDomain 1001")
        let file = BodyFile()
        let error = await downloader.failure(server.url("/text"), into: file) { _ in false }
        #expect(error?.row == "SDWebImageErrorDomain 1001")
        #expect(file.bytes.isEmpty)
    }

    @Test func `an image must be recognised within 4 KiB, by as many bytes as that needs`() async throws {
        let gate = OriginGate()
        let body = noise(10_000)
        let server = try OriginServer([
            "/slow": OriginReply([
                .bytes(OriginReply.head(200, [("Content-Length", "10000")]) + body[..<3]), .wait(gate),
                .bytes(Array(body[3...])),
            ]),
            "/short": .body(noise(10)), "/long": .body(body),
        ])
        let downloader = ImageDownloader(for: server)
        let file = BodyFile()
        let result = try await downloader.fetch(server.url("/slow"), into: file) { bytes in
            if bytes.count < 8 {
                gate.openUp()
                return nil
            }
            return bytes.elementsEqual(body[..<bytes.count])
        }
        #expect(result.sha256 == sha256(body))
        #expect(file.bytes == body)
        #expect(await downloader.failure(server.url("/short")) { _ in nil }?.code == .badImageData)
        #expect(await downloader.failure(server.url("/long")) { _ in nil }?.code == .badImageData)
    }

    @Test func `a body that is not an image ends at its first bytes`() async throws {
        // The server never sends the rest: only the limit ends the download.
        let server = try OriginServer([
            "/x": OriginReply([.bytes(OriginReply.head(200, [("Content-Length", "1000000")]) + noise(64)), .hang])
        ])
        let error = await ImageDownloader(for: server).failure(server.url("/x")) { _ in false }
        #expect(error?.code == .badImageData)
    }

    @Test
    func `requests ask for identity, and an encoded body is decoded with the length of what is decoded`() async throws {
        let body = noise(50_000)
        let server = try OriginServer(["/z": .body(try await gzip(body), [("Content-Encoding", "gzip")])])
        let file = BodyFile()
        let result = try await ImageDownloader(for: server).fetch(server.url("/z"), into: file)
        #expect(result.bytes == 50_000)
        #expect(result.sha256 == sha256(body))
        #expect(file.bytes == body)
        #expect(server.requests.first?.headers["accept-encoding"] == "identity")
    }

    @Test(arguments: [
        // Brotli and zlib of "larder ", 1,000 times.
        ("br", "G1cb+I1Utb+UYwtLELKyuC0SuDABcBo="),
        ("deflate", "eJztxSENAAAIALAqVGMDh6K/IAENfvPJrd4YSZIkSZIkSZIkSX8HungqJw=="),
    ])
    func `bodies in the other encodings of HTTP are decoded, too`(name: String, base64: String) async throws {
        let bytes = Array(try #require(Data(base64Encoded: base64)))
        let server = try OriginServer(["/z": .body(bytes, [("Content-Encoding", name)])])
        let file = BodyFile()
        _ = try await ImageDownloader(for: server).fetch(server.url("/z"), into: file)
        #expect(String(decoding: file.bytes, as: UTF8.self) == String(repeating: "larder ", count: 1000))
    }

    @Test func `a body that is encoded twice is decoded, within the limit`() async throws {
        let body = noise(5000)
        let twice = try await gzip(gzip(body))
        let bomb = try await gzip(gzip([UInt8](repeating: 0, count: 50 << 20)))
        let encoding = [("Content-Encoding", "gzip, gzip")]
        let server = try OriginServer(["/z": .body(twice, encoding), "/bomb": .body(bomb, encoding)])
        let downloader = ImageDownloader(for: server, limits: limits { $0.body = 1 << 20 })
        #expect(try await downloader.fetch(server.url("/z")).sha256 == sha256(body))
        #expect(await downloader.failure(server.url("/bomb"))?.row == "LarderErrorDomain 201")
    }

    @Test func `the limit of the body bounds what an encoded body decodes to`() async throws {
        let bomb = try await gzip([UInt8](repeating: 0, count: 10 << 20))
        let server = try OriginServer(["/z": .body(bomb, [("Content-Encoding", "gzip")])])
        let downloader = ImageDownloader(for: server, limits: limits { $0.body = 1 << 20 })
        let file = BodyFile()
        await #expect(throws: FetchError.self) { try await downloader.fetch(server.url("/z"), into: file) }
        #expect(bomb.count < 100_000)
        #expect(file.bytes.count <= 1 << 20)
        #expect(await downloader.failure(server.url("/z"))?.row == "LarderErrorDomain 201")
    }

    @Test func `a damaged encoding is -1016, and so is an unknown one unless the body is an image as it is`()
        async throws
    {
        let body = noise(1000)
        let server = try OriginServer([
            "/damaged": .body(body, [("Content-Encoding", "gzip")]),
            "/unknown": .body(body, [("Content-Encoding", "aws-chunked")]),
        ])
        let downloader = ImageDownloader(for: server)
        #expect(await downloader.failure(server.url("/damaged"))?.row == "NSURLErrorDomain -1016")
        let error = await downloader.failure(server.url("/unknown")) { _ in false }
        #expect(error?.row == "NSURLErrorDomain -1016")
        #expect(error?.message.contains("aws-chunked") == true)
        #expect(try await downloader.fetch(server.url("/unknown")).sha256 == sha256(body))
    }

    @Test(arguments: [1, 8, 9, 400])
    func `an encoded body that is cut short is -1005, and bytes after its end are ignored`(missing: Int) async throws {
        let body = noise(5000), whole = try await gzip(body)
        let server = try OriginServer([
            "/cut": .body(Array(whole.dropLast(missing)), [("Content-Encoding", "gzip")]),
            "/long": .body(whole + noise(missing), [("Content-Encoding", "gzip")]),
        ])
        let downloader = ImageDownloader(for: server)
        #expect(await downloader.failure(server.url("/cut"))?.row == "NSURLErrorDomain -1005")
        #expect(try await downloader.fetch(server.url("/long")).sha256 == sha256(body))
    }

    @Test
    func `a partial response to a request without a range is -1011 unless it contains the whole body`() async throws {
        let body = noise(2759)
        func part(_ range: String?, _ count: Int) -> OriginReply {
            .body(Array(body.prefix(count)), status: 206, range.map { [("Content-Range", $0)] } ?? [])
        }
        let server = try OriginServer([
            "/part": part("bytes 0-1499/2759", 1500), "/end": part("bytes 1-2758/2759", 2758),
            "/unknown": part("bytes 0-2758/*", 2759), "/none": part(nil, 2759),
            "/whole": part("bytes 0-2758/2759", 2759),
        ])
        let downloader = ImageDownloader(for: server)
        for path in ["/part", "/end", "/unknown"] {
            #expect(await downloader.failure(server.url(path))?.row == "NSURLErrorDomain -1011", "\(path)")
        }
        // Without the header nothing shows that it is a part; SDWebImage accepts it, too.
        for path in ["/whole", "/none"] {
            #expect(try await downloader.fetch(server.url(path)).sha256 == sha256(body), "\(path)")
        }
    }

    // libcurl 7.88.1 reports a header line of more than 100 KB as a lack of memory.
    @Test(arguments: [70_000, 110_000, 3_000_000])
    func `a header line over the limit is the origin's failure`(length: Int) async throws {
        let line = ("X", String(repeating: "a", count: length))
        let server = try OriginServer(["/x": .raw(OriginReply.head(200, [line, ("Content-Length", "1")]) + [7])])
        let error = await ImageDownloader(for: server).failure(server.url("/x"))
        #expect(error?.row == "NSURLErrorDomain -1011", "\(error as Any)")
        #expect(error?.code == .badServerResponse, "\(error as Any)")
        let status = "HTTP/1.1 200 " + String(repeating: "a", count: length) + "\r\nContent-Length: 1\r\n\r\n"
        let long = try OriginServer(["/x": .raw(Array(status.utf8) + [7])])
        let other = await ImageDownloader(for: long).failure(long.url("/x"))
        #expect(other?.row == "NSURLErrorDomain -1011", "\(other as Any)")
    }

    private func gzip(_ body: [UInt8]) async throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/body"
        try Data(body).write(to: URL(filePath: path))
        try await SystemTool.run(["gzip", "--no-name", path])
        return Array(try Data(contentsOf: URL(filePath: path + ".gz")))
    }

    @Test
    func `a body over the limit is 201, at once when announced, when chunked as soon as it exceeds it`() async throws {
        let server = try OriginServer([
            "/announced": OriginReply([.bytes(OriginReply.head(200, [("Content-Length", "1001")])), .hang]),
            "/chunked": .chunked(Array(repeating: noise(100), count: 50)), "/exact": .body(noise(1000)),
            "/lying": .raw(OriginReply.head(200, []) + noise(1001)),
        ])
        let downloader = ImageDownloader(for: server, limits: limits { $0.body = 1000 })
        for target in ["/announced", "/chunked", "/lying"] {
            let file = BodyFile()
            let error = await downloader.failure(server.url(target), into: file)
            #expect(error?.row == "LarderErrorDomain 201", "\(target)")
            #expect(error?.message.contains("1000") == true)
            #expect(file.bytes.count <= 1000)
        }
        #expect(try await downloader.fetch(server.url("/exact")).bytes == 1000)
    }

    @Test func `headers over the limit are refused`() async throws {
        let server = try OriginServer([
            "/h": .body([1], (0..<200).map { ("X-\($0)", String(repeating: "a", count: 1000)) })
        ])
        let error = await ImageDownloader(for: server).failure(server.url("/h"))
        #expect(error?.row == "NSURLErrorDomain -1011")
    }

    @Test func `a connection that ends early is -1005`() async throws {
        let server = try OriginServer([
            "/truncated": .truncated(noise(100), promised: 200), "/nothing": .raw([]),
            "/reset": OriginReply([.bytes(OriginReply.head(200, [("Content-Length", "9")])), .reset]),
            "/chunks": .raw(OriginReply.head(200, [("Transfer-Encoding", "chunked")]) + Array("5\r\nab".utf8)),
        ])
        let downloader = ImageDownloader(for: server)
        for target in ["/truncated", "/nothing", "/reset", "/chunks"] {
            #expect(await downloader.failure(server.url(target))?.row == "NSURLErrorDomain -1005", "\(target)")
        }
    }

    @Test func `a response that is not HTTP is -1011`() async throws {
        let server = try OriginServer([
            "/w": .raw(Array("SSH-2.0-OpenSSH\r\n".utf8)), "/1": .raw(Array("HTTP/9.9 200\r\n\r\n".utf8)),
        ])
        let downloader = ImageDownloader(for: server)
        #expect(await downloader.failure(server.url("/w"))?.row == "NSURLErrorDomain -1011")
    }

    @Test func `a closed port is -1004, an unknown name -1003, a server without TLS -1200`() async throws {
        let server = try OriginServer()
        let dead = try DeadPort()
        let port = dead.port
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(port, server.port)), resolver: StubResolver([:]))
        let refused = await downloader.failure("http://127.0.0.1:\(port)/")
        #expect(refused?.row == "NSURLErrorDomain -1004")
        #expect(refused?.curlCode == 7)
        #expect(await downloader.failure("http://nowhere.test/")?.row == "NSURLErrorDomain -1003")
        #expect(await downloader.failure("https://127.0.0.1:\(server.port)/")?.row == "NSURLErrorDomain -1200")
    }

    @Test func `the idle limit and the total limit are -1001 and are named in the message`() async throws {
        let server = try OriginServer([
            "/silent": .silent,
            "/stuck": OriginReply([.bytes(OriginReply.head(200, [("Content-Length", "9")]) + [1]), .hang]),
            "/drip": OriginReply([
                .bytes(OriginReply.head(200, [("Content-Length", "100000")])),
                .drip(noise(100_000), interval: .milliseconds(10)),
            ]),
        ])
        let downloader = ImageDownloader(for: server)
        let quick = limits { $0.total = .milliseconds(200) }
        let impatient = limits { $0.idle = .seconds(1) }
        for (target, limits, name) in [
            ("/silent", quick, "total limit of 0.2 seconds"), ("/drip", quick, "total limit of 0.2 seconds"),
            ("/silent", impatient, "idle limit of 1.0 seconds"), ("/stuck", impatient, "idle limit of 1.0 seconds"),
        ] {
            let error = await downloader.failure(server.url(target), limits: limits)
            #expect(error?.row == "NSURLErrorDomain -1001", "\(target)")
            #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
        }
    }

    @Test func `a slow body within the idle limit is complete`() async throws {
        let server = try OriginServer([
            "/drip": OriginReply([
                .bytes(OriginReply.head(200, [("Content-Length", "40")])),
                .drip(noise(40), interval: .milliseconds(100)),
            ])
        ])
        let result = try await ImageDownloader(for: server).fetch(
            server.url("/drip"), limits: limits { $0.idle = .seconds(3) })
        #expect(result.sha256 == sha256(noise(40)))
    }

    @Test func `a full disk is 501`() async throws {
        let server = try OriginServer(["/x": .body(noise(100))])
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let error = await #expect(throws: FetchError.self) {
            try await ImageDownloader(for: server).fetch(FetchRequest(server.url("/x")), into: full)
        }
        #expect(error?.row == "LarderErrorDomain 501")
        #expect(error?.message.contains("errno \(ENOSPC)") == true)
    }

    @Test func `messages contain neither user nor password nor query`() async throws {
        let server = try OriginServer(["/x?token=hush": .status(404)])
        let url = "http://bob:hush@127.0.0.1:\(server.port)/x?token=hush"
        let error = try #require(await ImageDownloader(for: server).failure(url))
        #expect(error.description == "http://127.0.0.1:\(server.port)/x: HTTP status 404 (SDWebImageErrorDomain 2001)")
    }

    @Test func `every code has its own domain and number`() {
        let rows = FetchError.Code.allCases.map { FetchError($0, "").row }
        #expect(Set(rows).count == rows.count)
    }
}
