import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct AdaptiveConcurrencyTests {
    private let start = ContinuousClock.now

    @Test func `429 and 503 halve the limit, once for requests that ran together; good responses raise it again`() {
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

    /// A limit after responses with these waits in turn.
    private func limit(after waits: [Int], isEnabled: Bool = true) -> Double? {
        var concurrency = AdaptiveConcurrency(maximum: 4, isEnabled: isEnabled)
        for (step, wait) in waits.enumerated() {
            let now = start + .seconds(step)
            let outcome = RequestOutcome.answered(status: 200, firstByte: .milliseconds(wait))
            concurrency.end(outcome, isGood: true, started: now, at: now)
        }
        return concurrency.limit
    }

    @Test func `ten slow responses in a row cut the limit: requests queue at the origin`() {
        let hits = Array(repeating: 20, count: 20)
        #expect(limit(after: hits + Array(repeating: 900, count: 9)) == nil)
        #expect(limit(after: hits + Array(repeating: 900, count: 10)) == 3)
        #expect(limit(after: hits + Array(repeating: 900, count: 10), isEnabled: false) == nil)
    }

    @Test(arguments: [20, 10, 5, 2])
    func `misses of a cache, up to half of the responses, do not cut the limit`(every: Int) {
        #expect(limit(after: (0..<1000).map { $0 % every == 0 ? 900 : 20 }) == nil)
    }

    @Test func `without adaptation no status sets a limit`() {
        var concurrency = AdaptiveConcurrency(maximum: 4, isEnabled: false)
        concurrency.end(.answered(status: 429), isGood: false, started: start, at: start)
        #expect(concurrency.limit == nil)
    }

    @Test(arguments: [true, false])
    func `a setting of the origins switches adaptation`(isAdaptive: Bool) {
        var configuration = FetchConfiguration()
        configuration.origins.adaptsConcurrency = isAdaptive
        var state = OriginState(Origin(scheme: .https, host: "example.com", port: 443), configuration)
        let permit = state.start(at: start).permit
        _ = state.end(permit, .answered(status: 503), OriginFaults(), at: start)
        #expect((state.concurrency.limit != nil) == isAdaptive)
    }
}
