import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct ReachabilityTests {
    private let start = ContinuousClock.now
    private let silence = RequestOutcome.failed(.timedOut)

    private func origin(_ number: Int) -> Origin { Origin(scheme: .https, host: "host\(number).example", port: 443) }

    /// After the requests to origins 0, 1, … have timed out, one a second.
    private func silent(_ count: Int) -> Reachability {
        var reachability = Reachability()
        for number in 0..<count { reachability.end(origin(number), silence, at: start + .seconds(number)) }
        return reachability
    }

    @Test func `time-outs of eight origins within a minute and no answer mean that none is reached, for five minutes`()
    {
        #expect(!silent(7).isLost(at: start + .seconds(7)))
        #expect(silent(8).isLost(at: start + .seconds(8)))
        #expect(silent(8).isLost(at: start + .seconds(306)))
        #expect(!silent(8).isLost(at: start + .seconds(307)))
        var slow = silent(4)
        for number in 4..<9 { slow.end(origin(number), silence, at: start + .seconds(61 + number)) }
        #expect(!slow.isLost(at: start + .seconds(70)))
    }

    @Test func `one origin that times out often, and refused connections, mean nothing`() {
        var reachability = silent(7)
        for _ in 0..<20 { reachability.end(origin(0), silence, at: start + .seconds(7)) }
        for number in 10..<30 { reachability.end(origin(number), .failed(.cannotConnect), at: start + .seconds(7)) }
        #expect(!reachability.isLost(at: start + .seconds(7)))
    }

    @Test func `any answer ends the finding`() {
        var reachability = silent(8)
        reachability.end(origin(50), .answered(status: 500), at: start + .seconds(9))
        #expect(!reachability.isLost(at: start + .seconds(9)))
        reachability.end(origin(1), silence, at: start + .seconds(10))
        #expect(!reachability.isLost(at: start + .seconds(10)))
    }

    @Test func `lookups that time out are error 501 of the ninth name`() async throws {
        let downloader = ImageDownloader(FetchConfiguration(), resolver: SilentResolver())
        var rows: [String?] = []
        for number in 0..<9 { rows.append(await downloader.failure("http://host\(number).example/a")?.row) }
        #expect(rows.first == "NSURLErrorDomain -1001" && rows.last == "LarderErrorDomain 501", "\(rows)")
    }
}

/// A resolver whose lookups time out at once.
private struct SilentResolver: NameResolving {
    func addresses(of host: String, within limit: Duration) async throws(LookupFailure) -> [IPAddress] {
        throw .timedOut
    }
}
