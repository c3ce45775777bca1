import Concurrency
import TestSupport
import Testing

@testable import Downloader

/// An https origin behind a proxy: TLS with the origin runs in a tunnel.
@Suite(.timeLimit(.minutes(5)), .enabled(if: NginxServer.program != nil))
struct ProxyTunnelTests {
    private let origin: NginxServer
    private let proxy: OriginServer

    init() throws {
        origin = try NginxServer(
            files: ["a": noise(30_000)], tls: true,
            locations: """
                location /seen {
                  return 200 "[$http_proxy_authorization][$http_authorization][$http_x_key][$http_proxy_connection]";
                }
                location /down { return 302 http://nowhere.test/; }
                """)
        proxy = try OriginServer()
    }

    /// A proxy that opens tunnels to the origin after this response.
    private func open(status: Int = 200) {
        let head = OriginReply.head(status, status == 407 ? [("Proxy-Authenticate", "Basic realm=\"p\"")] : [])
        proxy.on(target, OriginReply([.bytes(head)] + (status == 200 ? [.tunnel(to: origin.port)] : [])))
    }

    private var target: String { "origin.test:\(origin.port)" }
    private func url(_ path: String) -> String { "https://\(target)\(path)" }

    private func downloader(_ userinfo: String = "u:p@") throws -> ImageDownloader {
        var configuration = FetchConfiguration(policy: loopback(origin.port))
        configuration.proxy = try FetchProxy("http://\(userinfo)127.0.0.1:\(proxy.port)")
        var profile = CredentialProfile(origins: [try SourceURL(url("/")).origin])
        profile.headers = [HeaderField("Authorization", "Bearer secret"), HeaderField("X-Key", "secret")]
        configuration.credentials = ["cdn": profile]
        configuration.allowsInvalidCertificates = true
        return ImageDownloader(configuration, resolver: StubResolver([:]))
    }

    private func fetch(_ path: String, _ downloader: ImageDownloader, into file: BodyFile) async throws -> FetchResponse
    {
        var request = FetchRequest(url(path))
        request.credentials = "cdn"
        request.allowsInvalidCertificates = true
        return try await downloader.fetch(request, into: file)
    }

    @Test func `the proxy receives its password and the origin its profile only`() async throws {
        open()
        let file = BodyFile()
        _ = try await fetch("/seen", try downloader(), into: file)
        #expect(String(decoding: file.bytes, as: UTF8.self) == "[][Bearer secret][secret][]")
        let request = try #require(proxy.requests.first)
        #expect(request.headers["proxy-authorization"] == "Basic dTpw")
        #expect(request.headers["authorization"] == nil)
        #expect(request.headers["x-key"] == nil)
    }

    @Test func `HTTP/2 works through it, the tunnel is reused, and the proxy looks up the name`() async throws {
        open()
        let downloader = try downloader()
        for number in 0..<3 {
            let file = BodyFile()
            var request = FetchRequest(url("/a"))
            request.allowsInvalidCertificates = true
            let result = try await downloader.fetch(request, into: file)
            #expect(result.httpMajor == 2)
            #expect(result.isConnectionReused == (number > 0))
            #expect(file.bytes == noise(30_000))
        }
        #expect(proxy.requests.map(\.target) == [target])
    }

    @Test func `the certificate must belong to the origin`() async throws {
        open()
        // The certificate is for 127.0.0.1 and localhost, not for this name.
        #expect(await (try downloader()).failure(url("/a"))?.row == "NSURLErrorDomain -1202")
    }

    @Test
    func `a proxy that refuses or cannot connect is a failed transfer, not a response of the origin`() async throws {
        for status in [403, 502] {
            open(status: status)
            let error = await (try downloader()).failure(url("/a"))
            #expect(error?.row == "NSURLErrorDomain -1005", "\(status)")
            #expect(error?.code != .badStatus, "\(status)")
        }
    }

    @Test(arguments: ["http", "https"])
    func `a proxy that does not accept the password is this machine's fault`(scheme: String) async throws {
        open(status: 407)
        let image = "\(scheme)://\(target)/a"
        if scheme == "http" {
            proxy.on(image, OriginReply.status(407, [("Proxy-Authenticate", "Basic realm=\"p\"")]))
        }
        let error = await (try downloader()).failure(image)
        #expect(error?.row == "LarderErrorDomain 501", "\(error?.row ?? "no error")")
        #expect(error?.message.contains("the proxy http://127.0.0.1:\(proxy.port) does not accept") == true)
    }

    @Test(arguments: ["http", "https"])
    func `a proxy that is not there, is not found or has an unknown certificate is this machine's fault`(
        scheme: String
    ) async throws {
        let closed = try DeadPort()
        let proxies = ["http://127.0.0.1:\(closed.port)", "http://proxy.test:3128", "https://127.0.0.1:\(origin.port)"]
        for address in proxies {
            var configuration = FetchConfiguration(policy: loopback(origin.port))
            configuration.proxy = try FetchProxy(address)
            let downloader = ImageDownloader(configuration, resolver: StubResolver([:]))
            for _ in 0..<3 {
                let error = await downloader.failure("\(scheme)://\(target)/a")
                #expect(error?.row == "LarderErrorDomain 501")
                #expect(error?.message.contains("the proxy") == true)
            }
            let origin = try SourceURL("\(scheme)://\(target)/").origin
            #expect(downloader.origins.limits.withLock { $0.takeChanges() }[origin] == nil)
        }
    }

    @Test func `a redirect from https to http, a refused port and a refused address stay refused`() async throws {
        open()
        let downloader = try downloader()
        let error = await #expect(throws: FetchError.self) {
            try await fetch("/down", downloader, into: BodyFile())
        }
        #expect(error?.row == "LarderErrorDomain 103")
        #expect(await downloader.failure("https://origin.test:22/")?.row == "LarderErrorDomain 102")
        #expect(await downloader.failure("https://10.0.0.1/")?.row == "LarderErrorDomain 101")
        #expect(proxy.requests.count == 1)
    }
}
