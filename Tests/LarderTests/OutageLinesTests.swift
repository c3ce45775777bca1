import Testing

@testable import Monitoring

/// The lines of the log during an outage of the database.
struct OutageLinesTests {
    private let start = ContinuousClock.now

    @Test func `the first failure has a line, and later ones one in ten seconds with their number`() {
        var lines = OutageLines()
        #expect(lines.fail(at: start) == 1)
        for second in 1...9 { #expect(lines.fail(at: start + .seconds(second)) == nil) }
        #expect(lines.fail(at: start + .seconds(10)) == 10)
        #expect(lines.fail(at: start + .seconds(11)) == nil)
    }

    @Test func `the end has the length of the outage once, and the next outage begins with a line`() {
        var lines = OutageLines()
        #expect(lines.end(at: start) == nil)
        _ = lines.fail(at: start)
        #expect(lines.end(at: start + .seconds(3)) == .seconds(3))
        #expect(lines.end(at: start + .seconds(4)) == nil)
        #expect(lines.fail(at: start + .seconds(5)) == 1)
    }
}
