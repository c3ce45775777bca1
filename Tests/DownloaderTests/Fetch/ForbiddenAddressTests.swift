import TestSupport
import Testing

@testable import Downloader

/// Guarantee 10. A server counts the requests that reach it; none may.
@Suite(.timeLimit(.minutes(5)))
struct ForbiddenAddressTests {
    private static let forms = [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "127.0.0.1.", "2130706433.",
        "0.0.0.0", "0", "localhost", "LOCALHOST.", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[0:0:0:0:0:ffff:127.0.0.1]", "%31%32%37.0.0.1", "127%2e0%2e0%2e1",
        "１２７.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.0.1", "[fe80::1]", "[fd00::1]",
        "example.com@127.0.0.1", "example.com:80@127.0.0.1", "[::]",
    ]

    /// The port is allowed, so only the rule for addresses can refuse.
    private func downloader(_ server: OriginServer, _ resolver: any NameResolving = Resolver(threads: 1))
        -> ImageDownloader
    {
        ImageDownloader(FetchConfiguration(policy: AddressPolicy(allowedPorts: [server.port])), resolver: resolver)
    }

    @Test(arguments: forms)
    func `requested directly, in any notation`(host: String) async throws {
        let server = try OriginServer(["/": .body(noise(10))])
        let error = await downloader(server).failure("http://\(host):\(server.port)/")
        #expect(error?.row == "LarderErrorDomain 101", "\(error?.description ?? "")")
        #expect(server.acceptedConnections == 0)
    }

    @Test(arguments: forms)
    func `by a redirect, in any notation`(host: String) async throws {
        let target = try OriginServer(["/": .body(noise(10))])
        let server = try OriginServer(["/": .redirect(to: "http://\(host):\(target.port)/")], address: "127.0.0.2")
        let policy = loopback(server.port, target.port, addresses: ["127.0.0.2"])
        let downloader = ImageDownloader(FetchConfiguration(policy: policy), resolver: Resolver(threads: 1))
        let error = await downloader.failure(server.url("/"))
        #expect(error?.row == "LarderErrorDomain 101", "\(error?.description ?? "")")
        #expect(server.count("/") == 1)
        #expect(target.acceptedConnections == 0)
    }

    @Test(arguments: ["127.0.0.1", "10.1.2.3", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1", "100.64.0.1"])
    func `by the response of a name server`(address: String) async throws {
        let server = try OriginServer(["/": .body(noise(10))])
        let resolver = StubResolver(["evil.test": [[address]]])
        let error = await downloader(server, resolver).failure("http://evil.test:\(server.port)/")
        #expect(error?.row == "LarderErrorDomain 101")
        #expect(server.acceptedConnections == 0)
    }

    @Test
    func `by a name server that changes its response: the first is pinned, no second lookup is made`() async throws {
        let server = try OriginServer(["/": .body(noise(10))], address: "127.0.0.2")
        let resolver = StubResolver(["rebind.test": [["127.0.0.2"], ["127.0.0.1"]]])
        let policy = loopback(server.port, addresses: ["127.0.0.2"])
        let downloader = ImageDownloader(FetchConfiguration(policy: policy), resolver: resolver)
        _ = try await downloader.fetch("http://rebind.test:\(server.port)/")
        #expect(resolver.lookups == ["rebind.test"])
        #expect(server.requests.first?.headers["host"] == "rebind.test:\(server.port)")
        // The second download looks the name up again and receives the refused address.
        #expect(await downloader.failure("http://rebind.test:\(server.port)/")?.code == .addressRefused)
    }

    @Test func `by one of several addresses: only the allowed ones are tried`() async throws {
        let closed = try OriginServer(["/": .body(noise(10))])
        let resolver = StubResolver(["mixed.test": [["127.0.0.1", "127.0.0.2", "10.0.0.1"]]])
        let policy = loopback(closed.port, addresses: ["127.0.0.2"])
        let downloader = ImageDownloader(FetchConfiguration(policy: policy), resolver: resolver)
        // No server listens on 127.0.0.2: a connection to 127.0.0.1 would succeed.
        #expect(await downloader.failure("http://mixed.test:\(closed.port)/")?.code == .cannotConnect)
        #expect(closed.acceptedConnections == 0)
    }

    @Test func `over a pooled connection of another policy`() async throws {
        let server = try OriginServer(["/": .body(noise(10))])
        let resolver = StubResolver(["pool.test": [["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2"]]])
        let downloader = ImageDownloader(for: server, resolver: resolver)
        let url = "http://pool.test:\(server.port)/"
        _ = try await downloader.fetch(url)
        #expect(try await downloader.fetch(url).isConnectionReused)
        let strict = loopback(server.port, addresses: ["127.0.0.2"])
        #expect(await downloader.failure(url, policy: strict)?.row == "LarderErrorDomain 101")
        #expect(server.count("/") == 2)
    }

    @Test func `by a socket: libcurl's addresses are checked before it opens them`() throws {
        let request = try HTTPRequest(FetchRequest("http://example.com/"), FetchConfiguration())
        let handler = ResponseHandler(request, at: .now)
        #expect(handler.admits(IPAddress("8.8.8.8")))
        #expect(handler.refusedAddress == nil)
        #expect(!handler.admits(IPAddress("127.0.0.1")))
        #expect(handler.refusedAddress?.code == .addressRefused)
        #expect(!ResponseHandler(request, at: .now).admits(nil))
    }

    @Test func `on a port that is not allowed: 102, directly and by a redirect`() async throws {
        let target = try OriginServer(["/": .body(noise(10))])
        let server = try OriginServer(["/": .redirect(to: target.url("/"))])
        let downloader = ImageDownloader(for: server)
        #expect(await downloader.failure(target.url("/"))?.row == "LarderErrorDomain 102")
        #expect(await downloader.failure(server.url("/"))?.row == "LarderErrorDomain 102")
        #expect(target.acceptedConnections == 0)
    }
}
