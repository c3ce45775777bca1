import Testing

@testable import Downloader

@Suite("Adaptive concurrency", .timeLimit(.minutes(5)))
struct AdaptiveConcurrencyTests {
    private let start = ContinuousClock.now

    @Test("429 and 503 halve the limit, once for requests that ran together; good responses raise it again")
    func halves() {
        var concurrency = AdaptiveConcurrency(maximum: 4)
        #expect(concurrency.limit == nil)
        for status in [429, 503, 429, 503] {
            concurrency.end(.answered(status: status), isGood: false, started: start, at: start + .seconds(1))
        }
        #expect(concurrency.limit == 2)
        let later = start + .seconds(2)
        concurrency.end(.answered(status: 429), isGood: false, started: later, at: later)
        concurrency.end(.answered(status: 429), isGood: false, started: later, at: later + .seconds(1))
        #expect(concurrency.limit == 1)
        var responses = 0
        while concurrency.limit != nil {
            concurrency.end(.answered(status: 200), isGood: true, started: later + .seconds(2), at: later)
            responses += 1
        }
        #expect((3...10).contains(responses))
    }

    @Test("responses that become much slower cut the limit, one slow response does not")
    func slow() {
        var concurrency = AdaptiveConcurrency(maximum: 4)
        func respond(after wait: Duration, _ step: Int) {
            let now = start + .seconds(step)
            concurrency.end(.answered(status: 200, firstByte: wait), isGood: true, started: now, at: now)
        }
        for step in 0..<20 { respond(after: .milliseconds(20), step) }
        respond(after: .milliseconds(900), 20)
        #expect(concurrency.limit == nil)
        respond(after: .milliseconds(900), 21)
        #expect(concurrency.limit == 3)
    }
}
