import Testing

@testable import Downloader

/// Random events of an origin; the invariants must hold after each.
@Suite(.timeLimit(.minutes(5)))
struct OriginHistoryTests {
    private struct Random: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    @Test(arguments: 1...40)
    func `one probe at a time, no request while held, every running request counted`(seed: UInt64) {
        var random = Random(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
        var configuration = FetchConfiguration()
        var settings = OriginSettings()
        settings.failures = Int.random(in: 1...4, using: &random)
        settings.open = .seconds(Int.random(in: 1...20, using: &random))
        settings.rate = Bool.random(using: &random) ? 5 : nil
        configuration.origins = settings
        configuration.transfersPerOrigin = 1000
        var state = OriginState(Origin(scheme: .https, host: "a", port: 443), configuration)
        var now = ContinuousClock.now
        var running: [OriginPermit] = []
        var failures = 0
        var isOpen = false
        var epoch = 0
        for _ in 0..<2_000 {
            now += .milliseconds(Int.random(in: 0...800, using: &random))
            if Bool.random(using: &random) || running.isEmpty {
                let answer = state.answer(at: now)
                if let refusal = state.refusal(at: now) { #expect(answer == .refused(refusal)) }
                if case .wait(let until) = answer {
                    #expect(until > now)
                    #expect(until - now <= .milliseconds(200))
                }
                guard answer == .ready else { continue }
                let permit = state.start(at: now).permit
                // A probe starts only when the breaker is open and no other probe runs.
                #expect(permit.isProbe == isOpen)
                if permit.isProbe { #expect(!running.contains { $0.isProbe && $0.epoch == permit.epoch }) }
                running.append(permit)
                epoch = max(epoch, permit.epoch)
                #expect(state.running > 0)
                #expect(!state.isForgettable(at: now))
            } else {
                let permit = running.remove(at: Int.random(in: running.indices, using: &random))
                let outcome: RequestOutcome =
                    [
                        .answered(status: 200), .answered(status: 500), .answered(status: 429, retryAfter: .seconds(2)),
                        .failed(.timedOut), .failed(.connectionLost), .unknown,
                    ].randomElement(using: &random) ?? .unknown
                let changes = state.end(permit, outcome, OriginFaults(), at: now)
                for change in changes {
                    switch change {
                    case .opened:
                        #expect(permit.isProbe || failures + 1 >= settings.failures)
                        isOpen = true
                        epoch += 1
                        failures = 0
                        #expect(state.refusal(at: now) != nil)
                    case .closed:
                        // The probe, or a request from before it.
                        #expect(isOpen)
                        #expect(!OriginFaults().counts(outcome))
                        isOpen = false
                        epoch += 1
                        failures = 0
                    case .held(let length):
                        #expect(length <= settings.longestHold)
                        #expect(state.refusal(at: now) != nil)
                    }
                }
                if changes.isEmpty || changes == [.held(for: .seconds(2))], !isOpen {
                    if permit.epoch == epoch, OriginFaults().counts(outcome) { failures += 1 }
                    if case .answered = outcome, !OriginFaults().counts(outcome) { failures = 0 }
                }
            }
            #expect(running.count == state.running)
        }
    }
}
