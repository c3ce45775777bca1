import Testing

@testable import Downloader

struct TimeoutScheduleTests {
    private let start = ContinuousClock.now

    @Test func `sleeps until the earliest time, rounded up, for a minute at most`() {
        var schedule = TimeoutSchedule()
        #expect(schedule.sleep(from: start) == 60_000)
        schedule.note(start + .microseconds(1500))
        schedule.note(start + .seconds(5))
        schedule.note(nil)
        #expect(schedule.sleep(from: start) == 2)
        #expect(schedule.sleep(from: start + .seconds(1)) == 0)
    }

    @Test func `a check is due at its time and removes all times`() {
        var schedule = TimeoutSchedule()
        schedule.note(start + .milliseconds(10))
        let early = schedule.isDue(at: start)
        let now = schedule.isDue(at: start + .milliseconds(10))
        let again = schedule.isDue(at: start + .milliseconds(10))
        #expect([early, now, again] == [false, true, false])
    }
}
