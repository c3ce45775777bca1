import Testing

@testable import Prefetcher

struct PrefetchCountersTests {
    private typealias Event = PrefetchCounters.Event

    /// The events when elements end in an order such as "A1 B1 A2"; "!" marks a failed one.
    private func play(_ order: String, _ totals: [Character: Int]) -> [Event] {
        var counters = PrefetchCounters()
        let numbers = Dictionary(uniqueKeysWithValues: totals.keys.sorted().enumerated().map { ($1, UInt64($0)) })
        for (name, number) in numbers { counters.submit(number, total: totals[name] ?? 0) }
        return order.split(separator: " ").flatMap { word in
            counters.end(numbers[word.first ?? "?"] ?? 99, url: String(word.prefix(2)), failed: word.hasSuffix("!"))
        }
    }

    @Test func `sums fall when one of two tokens completes; allFinished has the last one's counts`() {
        #expect(
            play("A1 B1 A2 B2 B3", ["A": 2, "B": 3]) == [
                .prefetched(url: "A1", finished: 1, total: 5), .progress(0, finished: 1, total: 2),
                .prefetched(url: "B1", finished: 2, total: 5), .progress(1, finished: 1, total: 3),
                .prefetched(url: "A2", finished: 3, total: 5), .progress(0, finished: 2, total: 2),
                .completed(0, PrefetchCounts(finished: 2, skipped: 0, total: 2)),
                .prefetched(url: "B2", finished: 2, total: 3), .progress(1, finished: 2, total: 3),
                .prefetched(url: "B3", finished: 3, total: 3), .progress(1, finished: 3, total: 3),
                .allFinished(total: 3, skipped: 0),
                .completed(1, PrefetchCounts(finished: 3, skipped: 0, total: 3)),
            ])
    }

    @Test func `an earlier token's failures are in its completion and not in allFinished`() {
        let events = play("A1! B1 A2 B2 B3", ["A": 2, "B": 3])
        #expect(events.contains(.completed(0, PrefetchCounts(finished: 2, skipped: 1, total: 2))))
        #expect(events.contains(.allFinished(total: 3, skipped: 0)))
    }

    @Test func `two tokens of one element each give one allFinished`() {
        let events = play("A1 B1", ["A": 1, "B": 1])
        #expect(
            events.filter { if case .prefetched = $0 { true } else { false } } == [
                .prefetched(url: "A1", finished: 1, total: 2), .prefetched(url: "B1", finished: 1, total: 1),
            ])
        #expect(
            events.filter { if case .allFinished = $0 { true } else { false } } == [.allFinished(total: 1, skipped: 0)])
    }

    @Test func `a failed element is counted as finished and skipped`() {
        let events = play("A1 A2! A3", ["A": 3])
        #expect(events.last == .completed(0, PrefetchCounts(finished: 3, skipped: 1, total: 3)))
        #expect(events.contains(.allFinished(total: 3, skipped: 1)))
    }

    @Test func `a cancelled token's running loads are reported with the sums of the others and cause no allFinished`() {
        var counters = PrefetchCounters()
        counters.submit(1, total: 1)
        counters.submit(2, total: 2)
        let cancelled = [counters.cancel(1), counters.cancel(1)]
        #expect(cancelled == [true, false])
        let events = counters.end(1, url: "a", failed: true)
        #expect(events == [.prefetched(url: "a", finished: 0, total: 2)])
        #expect(counters.tokens == [2])
    }

    @Test(arguments: 0..<20)
    func `finished rises by one with each event in any order`(seed: Int) {
        var counters = PrefetchCounters()
        var left = [5, 1, 3]
        for (token, total) in left.enumerated() { counters.submit(UInt64(token), total: total) }
        var reported = [0, 0, 0]
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        while left.contains(where: { $0 > 0 }) {
            state = state &* 6_364_136_223_846_793_005 &+ 1
            let token = Int(state >> 33) % 3
            guard left[token] > 0 else { continue }
            left[token] -= 1
            for case .progress(let number, let finished, let total) in counters.end(
                UInt64(token), url: "", failed: false)
            {
                #expect(finished == reported[Int(number)] + 1)
                #expect(finished <= total)
                reported[Int(number)] = finished
            }
        }
        #expect(reported == [5, 1, 3])
        #expect(counters.tokens.isEmpty)
    }
}
