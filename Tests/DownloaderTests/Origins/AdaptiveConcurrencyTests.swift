import Testing

@testable import Downloader

@Suite("The pace of requests to one origin", .timeLimit(.minutes(5)))
struct AdaptiveConcurrencyTests {
    private let start = ContinuousClock.now

    private func pace(_ change: (inout OriginSettings) -> Void = { _ in }) -> AdaptiveConcurrency {
        var settings = OriginSettings()
        change(&settings)
        return AdaptiveConcurrency(settings)
    }

    private func pass(_ time: ContinuousClock.Instant) -> OriginPermit {
        OriginPermit(started: time, isProbe: false, epoch: 0)
    }

    @Test("nothing is limited until the origin asks for less")
    func free() {
        var pace = pace()
        for _ in 0..<1000 { #expect(pace.ask(at: start) == .go(at: start)) }
        #expect(pace.free == nil)
    }

    @Test("429 and 503 halve what goes at once, once for what was under way together; good answers add it again")
    func halves() {
        var pace = pace()
        for _ in 0..<4 { _ = pace.ask(at: start) }
        for status in [429, 503, 429, 503] {
            pace.end(pass(start), .answered(status: status), isGood: false, at: start + .seconds(1))
        }
        #expect(pace.limit == 2)
        let later = start + .seconds(2)
        #expect(pace.ask(at: later) == .go(at: later))
        #expect(pace.ask(at: later) == .go(at: later))
        #expect(pace.ask(at: later) == .full)
        pace.end(pass(later), .answered(status: 429), isGood: false, at: later)
        pace.end(pass(later), .answered(status: 429), isGood: false, at: later + .seconds(1))
        #expect(pace.limit == 1)
        var answers = 0
        while pace.limit != nil {
            #expect(pace.ask(at: later) == .go(at: later))
            pace.end(pass(later + .seconds(2)), .answered(status: 200), isGood: true, at: later)
            answers += 1
        }
        #expect((3...10).contains(answers))
    }

    @Test("answers that become much slower count as a request for less, one slow answer does not")
    func slow() {
        var pace = pace()
        func answer(_ wait: Duration, _ step: Int, _ pace: inout AdaptiveConcurrency) {
            let now = start + .seconds(step)
            _ = pace.ask(at: now)
            pace.end(pass(now), .answered(status: 200, firstByte: wait), isGood: true, at: now)
        }
        for step in 0..<20 { answer(.milliseconds(20), step, &pace) }
        answer(.milliseconds(900), 20, &pace)
        #expect(pace.limit == nil)
        answer(.milliseconds(900), 21, &pace)
        #expect(pace.limit == 3)
    }

    @Test("a rate gives each request its own moment; who would stand in line too long comes back later, one by one")
    func rate() {
        var pace = pace { $0.rate = 10 }
        for number in 0...50 { #expect(pace.ask(at: start) == .go(at: start + .milliseconds(100) * number)) }
        #expect(pace.ask(at: start) == .later(start + .seconds(5)))
        #expect(pace.ask(at: start) == .later(start + .milliseconds(5100)))
        #expect(pace.ask(at: start + .seconds(1)) == .go(at: start + .milliseconds(5100)))
    }
}
