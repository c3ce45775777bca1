import Testing

@testable import Downloader

struct ProgressTests {
    private let start = ContinuousClock.now

    @Test func `is reported at most once per interval, and at the end`() {
        var throttle = ProgressThrottle(interval: .milliseconds(100))
        _ = throttle.head(expected: 1000, at: start)
        var reports: [Int64] = []
        for (milliseconds, received) in [(10, 100), (99, 200), (100, 300), (150, 400), (200, 500), (201, 1000)] {
            let report = throttle.piece(
                received: Int64(received), expected: 1000, at: start + .milliseconds(milliseconds))
            if let report { reports.append(report.received) }
        }
        #expect(reports == [300, 500, 1000])
        #expect(throttle.end(received: 1000, expected: 1000) == nil)
    }

    @Test func `has its fraction clamped to 0 to 1 (spec 3.1)`() {
        for (fraction, count) in [(-3.0, 3), (0, 3), (1, 1), (7, 1)] {
            var throttle = ProgressThrottle(fraction: fraction, interval: .zero)
            _ = throttle.head(expected: 90, at: start)
            let reports = [30, 60, 90].compactMap { throttle.piece(received: $0, expected: 90, at: start) }
            #expect(reports.count == count)
            #expect(reports.last?.received == 90)
        }
    }

    @Test func `of an unknown length is reported by time only, and at the end`() {
        var throttle = ProgressThrottle(fraction: 0.5, interval: .milliseconds(100))
        _ = throttle.head(expected: nil, at: start)
        #expect(throttle.piece(received: 10, expected: nil, at: start + .milliseconds(50)) == nil)
        #expect(throttle.piece(received: 20, expected: nil, at: start + .milliseconds(100))?.received == 20)
        #expect(throttle.piece(received: 30, expected: nil, at: start + .milliseconds(110)) == nil)
        #expect(throttle.end(received: 30, expected: nil) == FetchProgress(received: 30, expected: nil))
    }

    @Test func `has SDWebImage's numbers: -1 before a response, 0 for an unknown length`() {
        #expect(ProgressThrottle(interval: .zero).start.webImageExpected == -1)
        #expect(FetchProgress(received: 1, expected: nil).webImageExpected == 0)
        #expect(FetchProgress(received: 1, expected: 7).webImageExpected == 7)
    }
}
