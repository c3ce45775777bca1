import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
    @Test(arguments: [301, 302, 303, 307, 308])
    func `all five statuses are followed, and the last URL is returned`(status: Int) async throws {
        let server = try OriginServer([
            "/a/b": .redirect(to: "../c?d", status: status), "/c?d": .body(noise(10)),
        ])
        let result = try await ImageDownloader(for: server).fetch(server.url("/a/b"))
        #expect(result.redirects == 1)
        #expect(result.url?.requestText == server.url("/c?d"))
        #expect(server.acceptedConnections == 1)
    }

    @Test func `five are followed, a sixth is -1007`() async throws {
        let server = try OriginServer(["/0": .body(noise(10)), "/loop": .redirect(to: "/loop")])
        for step in 1...6 { server.on("/\(step)", .redirect(to: "/\(step - 1)")) }
        let downloader = ImageDownloader(for: server)
        #expect(try await downloader.fetch(server.url("/5")).redirects == 5)
        #expect(await downloader.failure(server.url("/6"))?.row == "NSURLErrorDomain -1007")
        #expect(await downloader.failure(server.url("/loop"))?.row == "NSURLErrorDomain -1007")
        #expect(server.count("/loop") == 6)
        let none = limits { $0.redirects = 0 }
        #expect(await downloader.failure(server.url("/1"), limits: none)?.code == .tooManyRedirects)
    }

    @Test func `a redirect without Location is 2001`() async throws {
        let server = try OriginServer(["/x": .status(302)])
        let error = await ImageDownloader(for: server).failure(server.url("/x"))
        #expect(error?.row == "SDWebImageErrorDomain 2001")
        #expect(error?.httpStatus == 302)
    }

    @Test func `an empty Location is named`() async throws {
        let server = try OriginServer(["/x": .redirect(to: "")])
        let error = await ImageDownloader(for: server).failure(server.url("/x"))
        #expect(error?.message.contains("the header Location is empty") == true, "\(String(describing: error))")
    }

    @Test func `the body of a redirect is neither stored nor read to its end`() async throws {
        let server = try OriginServer([
            "/x": OriginReply([
                .bytes(OriginReply.head(302, [("Location", "/y"), ("Content-Length", "100000000")]) + noise(1000)),
                .hang,
            ]),
            "/z": OriginReply([
                .bytes(
                    OriginReply.head(302, [("Location", "/y"), ("Transfer-Encoding", "chunked")])
                        + Array("20000\r\n".utf8) + noise(0x20000)), .hang,
            ]),
            "/y": .body(noise(10)),
        ])
        for target in ["/x", "/z"] {
            let file = BodyFile()
            let result = try await ImageDownloader(for: server).fetch(server.url(target), into: file)
            #expect(result.bytes == 10)
            #expect(file.bytes == noise(10))
        }
    }

    @Test func `user and password are sent to their origin only`() async throws {
        let other = try OriginServer(["/y": .body(noise(10))])
        let server = try OriginServer([
            "/here": .redirect(to: "/y"), "/there": .redirect(to: "//127.0.0.1:\(other.port)/y"),
            "/y": .body(noise(10)),
        ])
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(server.port, other.port)), resolver: StubResolver([:]))
        let base = "http://bob:hush@127.0.0.1:\(server.port)"
        _ = try await downloader.fetch("\(base)/here")
        #expect(server.requests.allSatisfy { $0.headers["authorization"]?.hasPrefix("Basic ") == true })
        _ = try await downloader.fetch("\(base)/there")
        #expect(other.requests.count == 1)
        #expect(other.requests.allSatisfy { $0.headers["authorization"] == nil })
        _ = try await downloader.fetch(server.url("/y"))
        #expect(server.requests.last?.headers["authorization"] == nil)
    }

    @Test func `validators are sent to the URL that issued them only`() async throws {
        let other = try OriginServer(["/image": .body(noise(10), [("ETag", "\"b\"")])])
        let server = try OriginServer([
            "/same": .redirect(to: "/image"), "/other": .redirect(to: "//127.0.0.1:\(other.port)/image"),
            "/image": .body(noise(10), [("ETag", "\"a\"")]),
        ])
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(server.port, other.port)), resolver: StubResolver([:]))
        for path in ["/same", "/other"] {
            var request = FetchRequest(server.url(path))
            request.validators = Validators(etag: "\"first\"")
            request.headers = [HeaderField("If-Modified-Since", "Sat, 01 Jan 2022 10:00:00 GMT")]
            let first = try await downloader.fetch(request, into: BodyFile())
            #expect(first.validators.issuer != nil)
            request.validators = first.validators
            _ = try await downloader.fetch(request, into: BodyFile())
            let target = path == "/same" ? server : other
            #expect(
                server.requests.filter { $0.target == path }.map { $0.headers["if-none-match"] } == ["\"first\"", nil],
                "\(path)")
            #expect(
                target.requests.filter { $0.target == "/image" }.map { $0.headers["if-none-match"] } == [
                    nil, first.etag,
                ], "\(path)")
            #expect(
                target.requests.filter { $0.target == "/image" }.allSatisfy { $0.headers["if-modified-since"] == nil },
                "\(path)")
        }
        let direct = try await downloader.fetch(server.url("/image"))
        #expect(direct.validators.issuer == nil)
    }

    @Test func `a redirect to another scheme is -1002, to a malformed URL 1000`() async throws {
        let server = try OriginServer([
            "/file": .redirect(to: "file:///etc/passwd"), "/junk": .redirect(to: "http://[/"),
            "/gopher": .redirect(to: "gopher://127.0.0.1:70/"),
        ])
        let downloader = ImageDownloader(for: server)
        #expect(await downloader.failure(server.url("/file"))?.row == "NSURLErrorDomain -1002")
        #expect(await downloader.failure(server.url("/gopher"))?.row == "NSURLErrorDomain -1002")
        #expect(await downloader.failure(server.url("/junk"))?.row == "SDWebImageErrorDomain 1000")
    }
}
