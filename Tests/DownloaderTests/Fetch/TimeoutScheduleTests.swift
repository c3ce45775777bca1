import Testing

@testable import Downloader

@Suite("The timetable of transfers")
struct TimeoutScheduleTests {
    private let start = ContinuousClock.now

    @Test("sleeps to the earliest time noted, never a millisecond less, and a minute at most")
    func sleeping() {
        var timetable = TimeoutSchedule()
        #expect(timetable.sleep(from: start) == 60_000)
        timetable.note(start + .microseconds(1500))
        timetable.note(start + .seconds(5))
        timetable.note(nil)
        #expect(timetable.sleep(from: start) == 2)
        #expect(timetable.sleep(from: start + .seconds(1)) == 0)
    }

    @Test("a look is due once the time has come, and forgets all times")
    func looking() {
        var timetable = TimeoutSchedule()
        timetable.note(start + .milliseconds(10))
        let early = timetable.isDue(at: start)
        let now = timetable.isDue(at: start + .milliseconds(10))
        let again = timetable.isDue(at: start + .milliseconds(10))
        #expect([early, now, again] == [false, true, false])
    }
}
