import Foundation
import TestSupport
import Testing

@testable import Downloader

/// One endpoint of httpbin and its expected result.
struct HttpbinCase: Sendable, CustomTestStringConvertible {
    let path: String
    /// `200 14 B`: status and, where it is always the same, length; or domain and code of the error.
    let expected: String
    var redirects = 0
    var change: @Sendable (inout FetchRequest) -> Void = { _ in }
    /// A part of the body, without blanks.
    var body: String?

    var testDescription: String { path }

    static let all: [HttpbinCase] = [
        HttpbinCase(path: "/get", expected: "200", body: "\"Accept\":\"image/*,*/*;q=0.8\""),
        HttpbinCase(path: "/status/200", expected: "SDWebImageErrorDomain 1001"),
        HttpbinCase(path: "/status/204", expected: "SDWebImageErrorDomain 1001"),
        HttpbinCase(path: "/status/304", expected: "SDWebImageErrorDomain 2001"),
        HttpbinCase(path: "/status/404", expected: "SDWebImageErrorDomain 2001"),
        HttpbinCase(path: "/status/418", expected: "SDWebImageErrorDomain 2001"),
        HttpbinCase(path: "/status/503", expected: "SDWebImageErrorDomain 2001"),
        HttpbinCase(path: "/redirect/5", expected: "200", redirects: 5),
        HttpbinCase(path: "/redirect/6", expected: "NSURLErrorDomain -1007"),
        HttpbinCase(path: "/relative-redirect/3", expected: "200", redirects: 3),
        HttpbinCase(path: "/absolute-redirect/3", expected: "200", redirects: 3),
        HttpbinCase(path: "/redirect-to?url=%2Fimage%2Fpng&status_code=307", expected: "200 8090 B", redirects: 1),
        HttpbinCase(path: "/redirect-to?url=http%3A%2F%2F10.0.0.1%2F", expected: "LarderErrorDomain 101"),
        HttpbinCase(path: "/redirect-to?url=file%3A%2F%2F%2Fetc%2Fpasswd", expected: "NSURLErrorDomain -1002"),
        HttpbinCase(path: "/image/png", expected: "200 8090 B"),
        HttpbinCase(path: "/image/jpeg", expected: "200 35588 B"),
        HttpbinCase(path: "/image/webp", expected: "200 10568 B"),
        HttpbinCase(
            path: "/image", expected: "200 10568 B", change: { $0.headers = [HeaderField("Accept", "image/webp")] }),
        HttpbinCase(path: "/bytes/100000", expected: "200 100000 B"),
        HttpbinCase(path: "/stream-bytes/70000?chunk_size=1000", expected: "200 70000 B"),
        HttpbinCase(path: "/range/50000", expected: "200 50000 B"),
        HttpbinCase(
            path: "/range/50000?part", expected: "206 100 B",
            change: { $0.headers = [HeaderField("Range", "bytes=0-99")] }),
        HttpbinCase(path: "/drip?numbytes=20&duration=1&delay=0", expected: "200 20 B"),
        HttpbinCase(
            path: "/drip?numbytes=9&duration=30&delay=0", expected: "NSURLErrorDomain -1001",
            change: { $0.limits = limits { $0.total = .milliseconds(400) } }),
        HttpbinCase(
            path: "/delay/9", expected: "NSURLErrorDomain -1001",
            change: { $0.limits = limits { $0.idle = .milliseconds(300) } }),
        HttpbinCase(
            path: "/gzip", expected: "200", change: { $0.inspects = verdict(isText) }, body: "\"gzipped\":true"),
        HttpbinCase(
            path: "/deflate", expected: "200", change: { $0.inspects = verdict(isText) }, body: "\"deflated\":true"),
        HttpbinCase(path: "/html", expected: "SDWebImageErrorDomain 1001", change: { $0.inspects = verdict(isPNG) }),
        HttpbinCase(path: "/image/png?sniffed", expected: "200 8090 B", change: { $0.inspects = verdict(isPNG) }),
        HttpbinCase(
            path: "/etag/one", expected: "304",
            change: { $0.validators = Validators(etag: "\"one\"") }),
        HttpbinCase(
            path: "/etag/two", expected: "200", change: { $0.validators = Validators(etag: "\"one\"") }),
        HttpbinCase(
            path: "/cache", expected: "304",
            change: { $0.validators = Validators(lastModified: "Sat, 01 Jan 2022 10:00:00 GMT") }),
        HttpbinCase(path: "/basic-auth/bob/hush", expected: "SDWebImageErrorDomain 2001"),
        HttpbinCase(path: "/basic-auth/bob/hush?named", expected: "200", change: { $0.credentials = "bob" }),
        HttpbinCase(path: "/digest-auth/auth/bob/hush", expected: "200", change: { $0.credentials = "bob" }),
        HttpbinCase(
            path: "/basic-auth/bob/other", expected: "SDWebImageErrorDomain 2001", change: { $0.credentials = "bob" }),
        HttpbinCase(path: "/bearer", expected: "SDWebImageErrorDomain 2001"),
        HttpbinCase(
            path: "/bearer?sent", expected: "200", change: { $0.headers = [HeaderField("Authorization", "Bearer t")] }),
        HttpbinCase(path: "/cookies/set?a=1", expected: "200", redirects: 1, body: "\"cookies\":{}"),
        HttpbinCase(
            path: "/cookies/set?a=2", expected: "200", redirects: 1, change: { $0.handlesCookies = true },
            body: "\"a\":\"2\""),
        HttpbinCase(
            path: "/post", expected: "200",
            change: {
                $0.method = "POST"
                $0.body = Array("hello".utf8)
            }, body: "hello"),
        HttpbinCase(path: "/response-headers?X-Robots-Tag=noai", expected: "200", body: "noai"),
        HttpbinCase(path: "/user-agent", expected: "200", body: "larder/"),
    ]
}

private let isText: @Sendable (UnsafeRawBufferPointer) -> Bool? = { $0.first == UInt8(ascii: "{") }
private let isPNG: @Sendable (UnsafeRawBufferPointer) -> Bool? = { $0.starts(with: [0x89, 0x50, 0x4e, 0x47]) }

@Suite(.enabled(if: HttpbinServer.isInstalled, "python3-httpbin is not installed"), .timeLimit(.minutes(5)))
struct HttpbinTests {
    private static let server = Result { try HttpbinServer() }

    @Test(arguments: HttpbinCase.all)
    func `every endpoint has its expected result`(row: HttpbinCase) async throws {
        let server = try Self.server.get()
        var profile = CredentialProfile(origins: [try SourceURL(server.url("/")).origin])
        profile.user = "bob"
        profile.password = "hush"
        var configuration = FetchConfiguration(policy: loopback(server.port))
        // Python is still starting when the first request is sent.
        configuration.limits.idle = .seconds(60)
        configuration.credentials = ["bob": profile]
        let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
        _ = await downloader.failure(server.url("/robots.txt"))
        let file = BodyFile()
        var request = FetchRequest(server.url(row.path))
        row.change(&request)
        do throws(FetchError) {
            let result = try await downloader.fetch(request, into: file)
            let length = row.expected.contains(" B") ? " \(result.bytes) B" : ""
            #expect("\(result.status ?? 0)\(length)" == row.expected)
            #expect(result.redirects == row.redirects)
            #expect(result.isNotModified ? file.bytes.isEmpty : result.sha256 == sha256(file.bytes))
            let text = String(decoding: file.bytes.filter { $0 != 0x20 && $0 != 0x0a }, as: UTF8.self)
            if let body = row.body { #expect(text.contains(body)) }
        } catch {
            #expect(error.row == row.expected, "\(error)")
        }
    }
}
