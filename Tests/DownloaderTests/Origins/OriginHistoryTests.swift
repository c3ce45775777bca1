import Testing

@testable import Downloader

/// Random lives of origins, against what must hold at every moment of any of them.
@Suite("Random histories of origins", .timeLimit(.minutes(5)))
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

    @Test("one probe at a time, no request while held, no running request forgotten", arguments: 1...40)
    func history(seed: UInt64) {
        var random = Random(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
        var settings = OriginSettings()
        settings.failures = Int.random(in: 1...4, using: &random)
        settings.probes = Int.random(in: 0...3, using: &random)
        settings.open = .seconds(Int.random(in: 1...20, using: &random))
        settings.rate = Bool.random(using: &random) ? 5 : nil
        var state = OriginState(settings)
        var now = ContinuousClock.now
        var running: [OriginPermit] = []
        var failures = 0
        var isOpen = false
        var epoch = 0
        for _ in 0..<2_000 {
            now += .milliseconds(Int.random(in: 0...800, using: &random))
            if Bool.random(using: &random) || running.isEmpty {
                let away = state.away(at: now)
                let answer = state.ask(at: now)
                if let away { #expect(answer == away) }
                guard case .go(let pass, let turn) = answer else { continue }
                #expect(turn >= now && turn - now <= AdaptiveConcurrency.longestLine)
                // A probe only when the breaker was open, and never beside another.
                #expect(pass.isProbe == isOpen)
                if pass.isProbe { #expect(!running.contains { $0.isProbe && $0.epoch == pass.epoch }) }
                running.append(pass)
                epoch = max(epoch, pass.epoch)
                #expect(state.isBusy && !state.isForgettable(at: now))
            } else {
                let pass = running.remove(at: Int.random(in: running.indices, using: &random))
                let result: RequestOutcome =
                    [
                        .answered(status: 200), .answered(status: 500), .answered(status: 429, retryAfter: .seconds(2)),
                        .failed(.timedOut), .failed(.connectionLost), .unknown,
                    ].randomElement(using: &random) ?? .unknown
                let changes = state.end(pass, result, OriginFaults(), at: now)
                for change in changes {
                    switch change {
                    case .opened:
                        #expect(pass.isProbe || failures + 1 >= settings.failures)
                        isOpen = true
                        epoch += 1
                        failures = 0
                        #expect(state.away(at: now) != nil)
                    case .closed:
                        #expect(pass.isProbe)
                        isOpen = false
                        failures = 0
                    case .held(let length):
                        #expect(length <= settings.longestHold)
                        #expect(state.away(at: now) != nil)
                    }
                }
                if changes.isEmpty || changes == [.held(for: .seconds(2))], !pass.isProbe, !isOpen,
                    pass.epoch == epoch
                {
                    if result.meaning(OriginFaults()) == .bad { failures += 1 }
                    if result.meaning(OriginFaults()) == .good { failures = 0 }
                }
            }
            #expect(running.count == state.pace.inFlight)
        }
    }

    @Test("a table stays within its size, and loses what says nothing first")
    func table() throws {
        var settings = OriginSettings()
        settings.remembered = 64
        settings.failures = 1
        var table = OriginTable(settings)
        let now = ContinuousClock.now
        func origin(_ number: Int) throws -> Origin { try SourceURL("http://h\(number).example/").origin }
        for number in 0..<40 {
            guard case .go(let pass, _) = table.ask(try origin(number), at: now) else { continue }
            _ = table.end(try origin(number), pass, .failed(.timedOut), at: now)
        }
        for number in 1000..<2000 {
            guard case .go(let pass, _) = table.ask(try origin(number), at: now) else { continue }
            _ = table.end(try origin(number), pass, .answered(status: 200), at: now)
            #expect(table.count <= 64)
        }
        for number in 0..<40 { #expect(table.away(try origin(number), at: now) != nil) }
        for number in 2000..<3000 {
            guard case .go(let pass, _) = table.ask(try origin(number), at: now) else { continue }
            _ = table.end(try origin(number), pass, .failed(.timedOut), at: now)
            #expect(table.count <= 64)
        }
    }
}
