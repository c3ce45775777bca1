import TestSupport
import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct LocalEvidenceTests {
    private let start = ContinuousClock.now

    private func origin(_ number: Int, _ scheme: Scheme = .https) -> Origin {
        Origin(scheme: scheme, host: "host\(number).example", port: 443)
    }

    /// After the certificates of origins 0, 1, … were refused.
    private func refused(_ count: Int) -> LocalEvidence {
        var evidence = LocalEvidence(authorities: "/etc/authorities.pem")
        for number in 0..<count { _ = evidence.reason(.certificateIssuer, origin(number), at: start) }
        return evidence
    }

    @Test func `refused certificates of four origins and none accepted are this machine's fault`() {
        var three = refused(3)
        #expect(three.reason(.certificateIssuer, origin(0), at: start) == nil)
        #expect(three.reason(.certificateDates, origin(3), at: start)?.contains("/etc/authorities.pem") == true)
        var four = refused(4)
        four.answered(origin(9, .http))
        #expect(four.reason(.certificateIssuer, origin(0), at: start) != nil, "a response without TLS says nothing")
        four.answered(origin(9))
        #expect(four.reason(.certificateIssuer, origin(0), at: start) == nil)
    }

    @Test func `refused certificates say nothing about the network`() {
        var evidence = refused(4)
        for number in 0..<7 { #expect(evidence.reason(.network, origin(number), at: start) == nil) }
        #expect(evidence.reason(.network, origin(7), at: start) == "none of the last 8 origins responded")
    }

    @Test(arguments: [(301, "301 s ahead of"), (-86_400, "86400 s behind"), (299, nil)])
    func `refused dates of one certificate are the fault of a clock that is off by over five minutes`(
        offset: Int, text: String?
    ) {
        var evidence = LocalEvidence(authorities: "")
        evidence.clockOffset = .seconds(offset)
        #expect(
            evidence.reason(.certificateDates, origin(0), at: start)
                == text.map { "this machine's clock is \($0) the database's" })
        #expect(evidence.reason(.certificateIssuer, origin(0), at: start) == nil)
    }

    @Test func `dates and unknown issuers may be this machine's fault; the name of another host is the origin's`() {
        #expect((9...12).allSatisfy { LocalCause(verification: $0) == .certificateDates })
        #expect([2, 18, 19, 20, 21, 27].allSatisfy { LocalCause(verification: $0) == .certificateIssuer })
        // None, revoked, another host's name.
        #expect([0, 23, 62].allSatisfy { LocalCause(verification: $0) == nil })
    }

    @Test(.enabled(if: NginxServer.program != nil))
    func `certificates by an unknown authority are -1202 of three origins, and 501 from the fourth on`() async throws {
        let server = try NginxServer(files: ["a": noise(10)], tls: true)
        let names = (0..<6).map { "host\($0).test" }
        let policy = loopback(server.port)
        let downloader = ImageDownloader(
            FetchConfiguration(policy: policy),
            resolver: StubResolver(Dictionary(uniqueKeysWithValues: names.map { ($0, [["127.0.0.1"]]) })))
        var rows: [String?] = []
        for name in names { rows.append(await downloader.failure("https://\(name):\(server.port)/a")?.row) }
        let (origins, local) = ("NSURLErrorDomain -1202", "LarderErrorDomain 501")
        #expect(rows == [origins, origins, origins, local, local, local])
    }
}
