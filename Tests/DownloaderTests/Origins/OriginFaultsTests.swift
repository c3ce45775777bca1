import ImageModel
import Testing

@testable import Downloader

struct OriginFaultsTests {
    private let status = "SDWebImageErrorDomain"
    private let transport = "NSURLErrorDomain"

    private func rules(_ rows: (domain: String, code: Int?, status: Int?, counts: Bool)...) -> OriginFaults {
        OriginFaults(
            rows.map { OriginFaultRule(domain: $0.domain, code: $0.code, httpStatus: $0.status, counts: $0.counts) })
    }

    @Test(arguments: [
        (RequestOutcome.answered(status: 500), true), (.answered(status: 527), true),
        (.answered(status: 404), false),
        (.answered(status: 200), false), (.failed(.timedOut), true), (.failed(.cannotConnect), true),
        (.failed(.connectionLost), false), (.unknown, false),
    ])
    func `without rows 5xx, timeouts and refused connections count`(result: RequestOutcome, counts: Bool) {
        #expect(OriginFaults().counts(result) == counts)
    }

    @Test func `a row for a status decides`() {
        let faults = rules((status, 2001, 500, false), (status, 2001, 404, true))
        #expect(!faults.counts(.answered(status: 500)))
        #expect(faults.counts(.answered(status: 502)))
        #expect(faults.counts(.answered(status: 404)))
        #expect(!faults.counts(.answered(status: 403)))
    }

    @Test func `a row for a status of any code decides as well`() {
        #expect(rules((status, nil, 410, true), (status, 2001, nil, false)).counts(.answered(status: 410)))
    }

    @Test func `the row for a code without status does not change 5xx`() {
        #expect(rules((status, 2001, nil, false)).counts(.answered(status: 501)))
        #expect(rules((status, 2001, nil, true)).counts(.answered(status: 403)))
    }

    @Test func `a row for a code precedes the row of its domain`() {
        let faults = rules((transport, nil, nil, true), (transport, -1200, nil, false), (transport, -1001, nil, false))
        #expect(faults.counts(.failed(.connectionLost)))
        #expect(!faults.counts(.failed(.handshakeFailed)))
        #expect(!faults.counts(.failed(.timedOut)))
    }

    @Test func `a response without error never counts`() {
        let all = rules((status, nil, nil, true), (status, 2001, nil, true))
        for status in [200, 206, 304] { #expect(!all.counts(.answered(status: status))) }
        #expect(!all.counts(.unknown))
    }

    @Test func `the rows decide what opens a breaker`() throws {
        let start = ContinuousClock.now
        var state = OriginState(try Origin(of: "https://a.example/"), FetchConfiguration())
        func tenTimes(_ outcome: RequestOutcome, _ faults: OriginFaults) -> [OriginChange] {
            (0..<10).flatMap { _ in
                let permit = state.start(at: start).permit
                return state.end(permit, outcome, faults, at: start)
            }
        }
        #expect(tenTimes(.answered(status: 500), rules((status, 2001, 500, false))).isEmpty)
        #expect(tenTimes(.answered(status: 404), rules((status, 2001, 404, true))).count == 1)
    }
}
