import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct ResumptionTests {
    private let body = noise(50_000)

    private func broken(_ headers: [(String, String)], after count: Int = 20_000) -> OriginReply {
        OriginReply([
            .bytes(OriginReply.head(200, headers + [("Content-Length", "\(body.count)")]) + body[..<count])
        ])
    }

    private func rest(
        from start: Int, _ range: String? = nil, _ headers: [(String, String)] = [("ETag", "\"v1\"")],
        sending count: Int? = nil
    ) -> OriginReply {
        let part = body[start...]
        let all =
            headers + [
                ("Content-Range", range ?? "bytes \(start)-\(body.count - 1)/\(body.count)"),
                ("Content-Length", "\(part.count)"),
            ]
        return OriginReply([.bytes(OriginReply.head(206, all) + part.prefix(count ?? part.count))])
    }

    @Test func `is continued, twice if needed, with the digest of the whole`() async throws {
        let server = try OriginServer()
        server.on("/x", broken([("ETag", "\"v1\"")]), rest(from: 20_000, sending: 10_000), rest(from: 30_000))
        let file = BodyFile()
        let result = try await ImageDownloader(for: server).fetch(server.url("/x"), into: file)
        #expect(result.resumptions == 2)
        #expect(result.bytes == 50_000)
        #expect(result.sha256 == sha256(body))
        #expect(file.bytes == body)
        #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=20000-", "bytes=30000-"])
        #expect(server.requests.map { $0.headers["if-range"] } == [nil, "\"v1\"", "\"v1\""])
    }

    @Test func `starts again when the origin sends the whole body or a range that does not fit`() async throws {
        let misfits = [
            rest(from: 20_000, "bytes 20001-49999/50000"), rest(from: 20_000, "bytes 20000-49999/60000"),
            rest(from: 20_000, nil, [("ETag", "\"v2\"")]), rest(from: 20_000, "junk"), .status(416),
            rest(from: 20_000, "bytes 20000-49999/*"), .redirect(to: "/other"), .status(304),
        ]
        for (number, misfit) in misfits.enumerated() {
            let server = try OriginServer()
            server.on("/x", broken([("ETag", "\"v1\"")]), misfit, .body(body))
            let file = BodyFile()
            let result = try await ImageDownloader(for: server).fetch(server.url("/x"), into: file)
            #expect(result.sha256 == sha256(body), "misfit \(number)")
            #expect(file.bytes == body, "misfit \(number)")
            #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=20000-", nil], "misfit \(number)")
        }
        let server = try OriginServer()
        let changed = noise(100, seed: 7)
        server.on("/x", broken([("ETag", "\"v1\"")]), .body(changed))
        let file = BodyFile()
        let result = try await ImageDownloader(for: server).fetch(server.url("/x"), into: file)
        #expect(result.sha256 == sha256(changed))
        #expect(file.bytes == changed)
    }

    @Test func `is not continued by another URL's body when the range request is redirected`() async throws {
        let other = noise(30_000, seed: 9)
        let server = try OriginServer(["/other": .body(other)])
        server.on("/x", broken([("ETag", "\"v1\"")]), .redirect(to: "/other"))
        let file = BodyFile()
        let result = try await ImageDownloader(for: server).fetch(server.url("/x"), into: file)
        #expect(result.sha256 == sha256(other))
        #expect(result.redirects == 1)
        #expect(file.bytes == other)
    }

    @Test func `fails without a strong validator, without ranges, and after three tries`() async throws {
        let weak: [[(String, String)]] = [
            [], [("ETag", "W/\"v1\"")], [("ETag", "\"v1\""), ("Accept-Ranges", "none")],
            [("Last-Modified", "Sat, 01 Jan 2022 10:00:00 GMT"), ("Date", "Sat, 01 Jan 2022 10:00:30 GMT")],
        ]
        for headers in weak {
            let server = try OriginServer(["/x": broken(headers)])
            #expect(await ImageDownloader(for: server).failure(server.url("/x"))?.row == "NSURLErrorDomain -1005")
            #expect(server.count("/x") == 1)
        }
        let server = try OriginServer()
        server.on(
            "/x", broken([("ETag", "\"v1\"")]), rest(from: 20_000, sending: 10), rest(from: 20_010, sending: 10),
            rest(from: 20_020, sending: 10), rest(from: 20_030))
        #expect(await ImageDownloader(for: server).failure(server.url("/x"))?.row == "NSURLErrorDomain -1005")
        #expect(server.count("/x") == 4)
    }

    @Test func `fails after a try without bytes, and with the error of a try`() async throws {
        let server = try OriginServer()
        server.on("/x", broken([("ETag", "\"v1\"")]), rest(from: 20_000, sending: 0))
        #expect(await ImageDownloader(for: server).failure(server.url("/x"))?.row == "NSURLErrorDomain -1005")
        #expect(server.count("/x") == 2)
        server.on("/y", broken([("ETag", "\"v1\"")]), .status(503, [("Retry-After", "7")]))
        let error = await ImageDownloader(for: server).failure(server.url("/y"))
        #expect(error?.httpStatus == 503)
        #expect(error?.retryAfter == .seconds(7))
    }

    @Test func `a date is a validator when it is a minute before the response`() throws {
        let head = [
            HeaderField("Last-Modified", "Sat, 01 Jan 2022 10:00:00 GMT"),
            HeaderField("Date", "Sat, 01 Jan 2022 10:01:00 GMT"),
        ]
        let resumption = try #require(Resumption(head: head, offset: 5, total: 10))
        #expect(resumption.headers["If-Range"] == "Sat, 01 Jan 2022 10:00:00 GMT")
        #expect(resumption.headers["Range"] == "bytes=5-")
        #expect(Resumption(head: head, offset: 0, total: 10) == nil)
        #expect(Resumption(head: head + [HeaderField("Content-Encoding", "gzip")], offset: 5, total: 10) == nil)
        func judge(_ status: Int, _ range: String? = nil) -> Resumption.Answer {
            resumption.judge(
                ResponseHead(status: status, headers: range.map { [HeaderField("Content-Range", $0)] } ?? []))
        }
        #expect(judge(206, "bytes 5-9/10") == .rest)
        #expect(judge(206, "bytes 5-8/10") == .unusable)
        #expect(judge(206, "bytes 5-9/*") == .unusable)
        #expect(judge(206) == .unusable)
        #expect(judge(416) == .unusable)
        #expect(judge(302) == .unusable)
        #expect(judge(304) == .unusable)
        #expect(judge(200) == .whole)
        #expect(judge(503) == .other)
    }

    @Test(arguments: [
        "", "bytes", "bytes 1-2", "bytes 2-1/5", "bytes 1-5/5", "bytes -1-2/5", "items 1-2/5", "bytes +1-2/5",
    ])
    func `an invalid range is not read`(text: String) { #expect(ContentRange(text) == nil) }
}
