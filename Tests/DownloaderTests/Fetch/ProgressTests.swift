import Testing

@testable import Downloader

@Suite("Progress of a download")
struct ProgressTests {
    private let start = ContinuousClock.now

    @Test("is told at most every interval, and at the end whatever the time")
    func interval() {
        var throttle = ProgressThrottle(interval: .milliseconds(100))
        _ = throttle.answer(expected: 1000, at: start)
        var told: [Int64] = []
        for (milliseconds, received) in [(10, 100), (99, 200), (100, 300), (150, 400), (200, 500), (201, 1000)] {
            let word = throttle.piece(
                received: Int64(received), expected: 1000, at: start + .milliseconds(milliseconds))
            if let word { told.append(word.received) }
        }
        #expect(told == [300, 500, 1000])
        #expect(throttle.end(received: 1000, expected: 1000) == nil)
    }

    @Test("with a fraction outside 0 to 1 is told as with the nearer end of it (spec 3.1)")
    func clamped() {
        for (fraction, words) in [(-3.0, 3), (0, 3), (1, 1), (7, 1)] {
            var throttle = ProgressThrottle(fraction: fraction, interval: .zero)
            _ = throttle.answer(expected: 90, at: start)
            let told = [30, 60, 90].compactMap { throttle.piece(received: $0, expected: 90, at: start) }
            #expect(told.count == words && told.last?.received == 90)
        }
    }

    @Test("of an unknown length is told by time alone, and once more at the end")
    func unknown() {
        var throttle = ProgressThrottle(fraction: 0.5, interval: .milliseconds(100))
        _ = throttle.answer(expected: nil, at: start)
        #expect(throttle.piece(received: 10, expected: nil, at: start + .milliseconds(50)) == nil)
        #expect(throttle.piece(received: 20, expected: nil, at: start + .milliseconds(100))?.received == 20)
        #expect(throttle.piece(received: 30, expected: nil, at: start + .milliseconds(110)) == nil)
        #expect(throttle.end(received: 30, expected: nil) == FetchProgress(received: 30, expected: nil))
    }

    @Test("gives SDWebImage's numbers: -1 before an answer, 0 for a length nobody tells")
    func webImage() {
        #expect(ProgressThrottle(interval: .zero).start.webImageExpected == -1)
        #expect(FetchProgress(received: 1, expected: nil).webImageExpected == 0)
        #expect(FetchProgress(received: 1, expected: 7).webImageExpected == 7)
    }
}
