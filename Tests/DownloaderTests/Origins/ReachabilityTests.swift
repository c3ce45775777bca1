import Glibc
import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct ReachabilityTests {
    private let start = ContinuousClock.now

    private func origin(_ number: Int) -> Origin { Origin(scheme: .https, host: "host\(number).example", port: 443) }

    /// After the requests to origins 0, 1, … have failed, one a second.
    private func failed(_ count: Int) -> Reachability {
        var reachability = Reachability()
        for number in 0..<count { _ = reachability.fail(origin(number), at: start + .seconds(number)) }
        return reachability
    }

    private func isLost(_ reachability: Reachability, at seconds: Int) -> Bool {
        var reachability = reachability
        return reachability.fail(origin(0), at: start + .seconds(seconds))
    }

    @Test func `failures of eight origins within a minute and no answer mean that none is reached, for five minutes`() {
        #expect(!isLost(failed(7), at: 7))
        #expect(isLost(failed(8), at: 8))
        #expect(isLost(failed(8), at: 306))
        #expect(!isLost(failed(8), at: 307))
        var slow = failed(4)
        for number in 4..<9 { _ = slow.fail(origin(number), at: start + .seconds(61 + number)) }
        #expect(!isLost(slow, at: 70))
    }

    @Test func `one origin that fails often means nothing`() {
        var reachability = failed(7)
        for _ in 0..<20 { _ = reachability.fail(origin(0), at: start + .seconds(7)) }
        #expect(!isLost(reachability, at: 7))
    }

    @Test func `any answer ends the finding`() {
        var reachability = failed(8)
        reachability.answered()
        #expect(!isLost(reachability, at: 10))
    }

    @Test func `hosts without a route and connections that are refused or reset may be local; other failures are not`()
        throws
    {
        let remote = [try #require(IPAddress("203.0.113.7"))]
        for number in [EHOSTUNREACH, ENETUNREACH, ENETDOWN, ECONNREFUSED, ECONNRESET] {
            #expect(LocalFault.isPossible(number, to: remote))
        }
        for number in [0, ETIMEDOUT] { #expect(!LocalFault.isPossible(number, to: remote)) }
        #expect(FetchError(.cannotConnect, "").localCause == nil)
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1"])
    func `no filter refuses a connection to this machine itself`(address: String) throws {
        let own = try #require(IPAddress(address))
        for number in [ECONNREFUSED, ECONNRESET] { #expect(!LocalFault.isPossible(number, to: [own])) }
        #expect(LocalFault.isPossible(EHOSTUNREACH, to: [own]))
    }

    @Test func `refused connections are -1004 of every origin`() async throws {
        let closed = try DeadPort()
        let addresses = (1...12).map { "127.0.1.\($0)" }
        let downloader = ImageDownloader(
            FetchConfiguration(policy: loopback(closed.port, addresses: ["127.0.0.0/8"])), resolver: StubResolver([:]))
        for address in addresses {
            #expect(await downloader.failure("http://\(address):\(closed.port)/a")?.row == "NSURLErrorDomain -1004")
        }
    }

    @Test func `name servers that fail to look up every name are error 501 from the eighth name on`() async throws {
        let server = try IPv4NameServer(address: nil)
        let names = NameServers(servers: "127.0.0.1:\(server.port)")
        let downloader = ImageDownloader(
            FetchConfiguration(), resolver: Resolver { host, done in names.query(host, done) })
        for _ in 0..<20 {
            #expect(await downloader.failure("http://lame.example./a")?.row == "NSURLErrorDomain -1003")
        }
        var rows: [String?] = []
        for number in 0..<8 { rows.append(await downloader.failure("http://host\(number).example./a")?.row) }
        #expect(rows[5] == "NSURLErrorDomain -1003", "\(rows)")
        #expect(rows[6] == "LarderErrorDomain 501", "\(rows)")
    }

    @Test func `lookups that time out are error 501 of the ninth name`() async throws {
        let downloader = ImageDownloader(FetchConfiguration(), resolver: SilentResolver())
        var rows: [String?] = []
        for number in 0..<9 { rows.append(await downloader.failure("http://host\(number).example/a")?.row) }
        #expect(rows.first == "NSURLErrorDomain -1001", "\(rows)")
        #expect(rows.last == "LarderErrorDomain 501", "\(rows)")
    }
}

/// A resolver whose lookups time out at once.
private struct SilentResolver: NameResolving {
    func addresses(of host: String, within limit: Duration) async throws(LookupFailure) -> [IPAddress] {
        throw .timedOut
    }
}
