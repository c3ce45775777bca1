import Testing

@testable import Downloader

@Suite("The schedule of timeouts")
struct TimeoutScheduleTests {
    private let start = ContinuousClock.now

    @Test("sleeps until the earliest time, rounded up, for a minute at most")
    func sleeping() {
        var timetable = TimeoutSchedule()
        #expect(timetable.sleep(from: start) == 60_000)
        timetable.note(start + .microseconds(1500))
        timetable.note(start + .seconds(5))
        timetable.note(nil)
        #expect(timetable.sleep(from: start) == 2)
        #expect(timetable.sleep(from: start + .seconds(1)) == 0)
    }

    @Test("a check is due at its time and removes all times")
    func looking() {
        var timetable = TimeoutSchedule()
        timetable.note(start + .milliseconds(10))
        let early = timetable.isDue(at: start)
        let now = timetable.isDue(at: start + .milliseconds(10))
        let again = timetable.isDue(at: start + .milliseconds(10))
        #expect([early, now, again] == [false, true, false])
    }
}
