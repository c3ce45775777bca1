import Testing

@testable import Downloader

@Suite(.timeLimit(.minutes(5)))
struct OriginStateTests {
    private let start = ContinuousClock.now
    private let refused = RequestOutcome.failed(.cannotConnect)
    private let good = RequestOutcome.answered(status: 200)

    private let origin = Origin(scheme: .https, host: "example.com", port: 443)

    private func state(_ change: (inout OriginSettings) -> Void = { _ in }) -> OriginState {
        var configuration = FetchConfiguration()
        change(&configuration.origins)
        return OriginState(origin, configuration)
    }

    @Test func `ten failures in a row open the breaker, nine and a success do not`() {
        var state = state()
        for _ in 0..<9 { #expect(state.request(refused, at: start) == []) }
        #expect(state.request(good, at: start) == [])
        for _ in 0..<9 { #expect(state.request(refused, at: start) == []) }
        let failure = OriginFailure(code: .cannotConnect, httpStatus: nil)
        #expect(state.request(refused, at: start) == [.opened(for: .seconds(60), failure)])
        #expect(state.answer(at: start + .seconds(59)) == .refused(.held(until: start + .seconds(60))))
    }

    @Test(arguments: [
        (RequestOutcome.failed(.cannotConnect), true), (.failed(.timedOut), true), (.answered(status: 500), true),
        (.answered(status: 599), true), (.answered(status: 404), false),
        (.answered(status: 429, retryAfter: .zero), false),
        (.failed(.connectionLost), false), (.failed(.handshakeFailed), false), (.unknown, false),
        (RequestOutcome(FetchError(.nameNotFound, "")), false), (RequestOutcome(FetchError(.cancelled, "")), false),
        (RequestOutcome(FetchError(.badStatus, "", httpStatus: 503)), true),
        (RequestOutcome(FetchError(.badStatus, "", httpStatus: 403)), false),
    ])
    func `connect failures, timeouts and 5xx count; other statuses, names and cancellations do not`(
        outcome: RequestOutcome, opens: Bool
    ) {
        var state = state()
        for _ in 0..<10 { _ = state.request(outcome, at: start) }
        #expect((state.refusal(at: start) != nil) == opens)
    }

    @Test func `after the open time one probe starts, the others are held, and its success closes the breaker`() {
        var state = state { $0.failures = 1 }
        _ = state.request(refused, at: start)
        let later = start + .seconds(60)
        #expect(state.answer(at: later) == .ready)
        let (probe, change) = state.start(at: later)
        let failure = OriginFailure(code: .cannotConnect, httpStatus: nil)
        #expect(probe.isProbe)
        #expect(change == .opened(for: .seconds(60), failure))
        #expect(state.answer(at: later) == .refused(.held(until: later + OriginState.probePause)))
        #expect(state.end(probe, good, OriginFaults(), at: later) == [.closed])
        #expect(state.refusal(at: later) == nil)
    }

    @Test func `a failed probe opens the breaker again, and the origin is held however many fail`() {
        var state = state { $0.failures = 1 }
        _ = state.request(refused, at: start)
        var now = start
        for _ in 1...50 {
            now += .seconds(60)
            #expect(state.request(refused, at: now).count == 2, "the start of the probe and its failure")
            #expect(state.answer(at: now) == .refused(.held(until: now + .seconds(60))))
        }
        now += .seconds(60)
        let probe = state.start(at: now).permit
        #expect(state.answer(at: now) == .refused(.held(until: now + OriginState.probePause)))
        #expect(state.end(probe, good, OriginFaults(), at: now) == [.closed])
    }

    @Test func `an origin is given up after a number of failed probes until one succeeds, and only that is reported`() {
        var state = state { ($0.failures, $0.probes) = (1, 3) }
        _ = state.request(.answered(status: 502), at: start)
        var now = start
        let opened = OriginChange.opened(for: .seconds(60), OriginFailure(code: .badStatus, httpStatus: 502))
        for changes in [[opened, opened], [opened, opened], [opened], [], []] {
            now += .seconds(60)
            #expect(state.request(.answered(status: 502), at: now) == changes)
        }
        #expect(state.answer(at: now) == .refused(.down(OriginFailure(code: .badStatus, httpStatus: 502))))
        now += .seconds(60)
        #expect(state.request(good, at: now) == [.closed])
        #expect(state.request(good, at: now) == [])
    }

    @Test func `a cancelled probe decides nothing: the next may start at once`() {
        var state = state { $0.failures = 1 }
        _ = state.request(refused, at: start)
        let later = start + .seconds(60)
        let opened = OriginChange.opened(for: .seconds(60), OriginFailure(code: .cannotConnect, httpStatus: nil))
        #expect(state.request(.unknown, at: later) == [opened])
        // The database still has the report of its start.
        #expect(state.adopt(opened, at: later) == nil)
        #expect(state.request(good, at: later) == [opened, .closed])
    }

    @Test func `failures of requests from before the breaker opened do not change it`() {
        var state = state { $0.failures = 1 }
        let old = state.start(at: start).permit
        _ = state.request(refused, at: start)
        #expect(state.end(old, refused, OriginFaults(), at: start + .seconds(1)) == [])
        #expect(state.refusal(at: start) == .held(until: start + .seconds(60)))
    }

    @Test func `Retry-After holds the origin, an hour at most, and only with 429 or 503`() {
        var held = state()
        #expect(held.request(.answered(status: 429, retryAfter: .seconds(3)), at: start) == [.held(for: .seconds(3))])
        #expect(held.answer(at: start + .seconds(2)) == .refused(.held(until: start + .seconds(3))))
        #expect(held.refusal(at: start + .seconds(3)) == nil)
        _ = held.request(.answered(status: 503, retryAfter: .seconds(86_400)), at: start + .seconds(3))
        #expect(held.refusal(at: start + .seconds(3602)) != nil)
        #expect(held.refusal(at: start + .seconds(3603)) == nil)
        var other = state()
        #expect(other.request(.answered(status: 404, retryAfter: .seconds(9)), at: start) == [])
        #expect(other.refusal(at: start) == nil)
    }

    @Test func `429 without Retry-After holds the origin for 1 s, doubled up to 60 s until a request succeeds`() {
        var state = state()
        let overload = RequestOutcome.answered(status: 429)
        // Those that run together count once.
        let permits = (0..<3).map { _ in state.start(at: start).permit }
        let changes = permits.map { state.end($0, overload, OriginFaults(), at: start + .seconds(1)) }
        #expect(changes == [[.held(for: .seconds(1))], [], []])
        var now = start + .seconds(2)
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            #expect(state.request(overload, at: now) == [.held(for: .seconds(seconds))])
            now += .seconds(seconds)
        }
        #expect(state.request(good, at: now) == [])
        #expect(state.request(overload, at: now) == [.held(for: .seconds(1))])
        #expect(state.request(.answered(status: 503), at: now + .seconds(1)) == [])
    }

    @Test func `another worker's hold and breaker apply here until they are no longer reported`() {
        var state = state()
        _ = state.adopt(.held(for: .seconds(9)), at: start)
        #expect(state.answer(at: start) == .refused(.held(until: start + .seconds(9))))
        state.withdraw(hold: true, breaker: true, at: start)
        #expect(state.refusal(at: start) == nil)
        #expect(state.adopt(timedOut(for: 9), at: start) == nil)
        #expect(state.answer(at: start) == .refused(.held(until: start + .seconds(9))))
        state.withdraw(hold: true, breaker: true, at: start)
        #expect(state.refusal(at: start) == nil)
    }

    /// Another worker's report about its breaker.
    private func timedOut(for seconds: Int) -> OriginChange {
        .opened(for: .seconds(seconds), OriginFailure(code: .timedOut, httpStatus: nil))
    }

    @Test func `another worker's breaker ends here with one probe, also when it is no longer reported then`() {
        var state = state()
        #expect(state.adopt(timedOut(for: 9), at: start) == nil)
        let end = start + .seconds(9)
        // The database's hold ended a little earlier.
        state.withdraw(hold: true, breaker: true, at: end - .milliseconds(500))
        #expect(state.answer(at: end - .milliseconds(500)) == .refused(.held(until: end)))
        let probe = state.start(at: end).permit
        #expect(probe.isProbe)
        #expect(state.refusal(at: end) != nil)
        #expect(state.end(probe, good, OriginFaults(), at: end) == [.closed])
        #expect(state.refusal(at: end) == nil)
        // A worker that has just started.
        var new = self.state()
        #expect(new.adopt(timedOut(for: -1), at: start) == nil)
        #expect(new.start(at: start).permit.isProbe)
    }

    @Test func `probes of other workers count towards giving an origin up`() {
        var state = state { $0.probes = 2 }
        var now = start
        for _ in 0..<3 {
            #expect(state.adopt(timedOut(for: 60), at: now) == nil)
            #expect(state.adopt(timedOut(for: 50), at: now + .seconds(10)) == nil)
            #expect(state.refusal(at: now) != nil)
            now += .seconds(60)
        }
        let failure = OriginFailure(code: .timedOut, httpStatus: nil)
        #expect(state.answer(at: now - .seconds(1)) == .refused(.down(failure)))
        #expect(state.request(refused, at: now) == [], "nothing is reported any more")
    }

    @Test func `a request that began before the breaker opened closes it when it succeeds`() {
        var state = state { $0.failures = 1 }
        let permits = (0..<3).map { _ in state.start(at: start).permit }
        #expect(state.end(permits[0], refused, OriginFaults(), at: start).count == 1)
        #expect(state.end(permits[1], refused, OriginFaults(), at: start).isEmpty)
        #expect(state.refusal(at: start) != nil)
        #expect(state.end(permits[2], good, OriginFaults(), at: start + .seconds(1)) == [.closed])
        #expect(state.refusal(at: start + .seconds(1)) == nil)
    }

    @Test func `a worker whose requests succeed reports other workers' breaker as closed in place of adopting it`() {
        let opened = timedOut(for: 60)
        var state = state()
        _ = state.request(good, at: start)
        let later = start + .seconds(59)
        #expect(state.adopt(opened, at: later) == .closed)
        #expect(state.refusal(at: later) == nil)
        var failing = state
        for _ in 1...9 { _ = failing.request(refused, at: later) }
        #expect(failing.adopt(opened, at: later) == .closed, "the origin responded within the minute")
        #expect(failing.refusal(at: later) == nil)
        #expect(failing.request(refused, at: later).count == 1, "its failures still count")
        #expect(failing.adopt(opened, at: later) == nil)
        #expect(state.adopt(opened, at: start + .seconds(60)) == nil, "the success was long ago")
        #expect(state.refusal(at: start + .seconds(60)) != nil)
    }

    @Test func `a hold and breaker that are not reported yet stay`() {
        var state = state { $0.failures = 1 }
        let changes = state.request(refused, at: start)
        state.withdraw(hold: true, breaker: true, at: start)
        #expect(state.refusal(at: start) != nil)
        _ = state.adopt(timedOut(for: -1), at: start)
        #expect(state.answer(at: start) == .refused(.held(until: start + .seconds(60))))
        for change in changes { state.shared(change) }
        state.withdraw(hold: true, breaker: true, at: start)
        #expect(state.refusal(at: start) == nil)
    }
}

extension OriginState {
    /// One request, if it may start.
    mutating func request(_ outcome: RequestOutcome, at now: Instant) -> [OriginChange] {
        guard answer(at: now) == .ready else { return [] }
        let (permit, change) = start(at: now)
        return [change].compactMap(\.self) + end(permit, outcome, OriginFaults(), at: now)
    }
}
