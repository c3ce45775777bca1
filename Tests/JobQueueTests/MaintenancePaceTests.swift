import JobQueue
import Testing

struct MaintenancePaceTests {
    @Test func `a worker whose routine calls find nothing due waits twice as long each time, up to four intervals`() {
        var pace = MaintenancePace(.routine)
        var waits = [pace.wait]
        for _ in 1...4 {
            pace.answered(tasks: 0)
            waits.append(pace.wait)
        }
        #expect(waits == [1, 2, 4, 4, 4].map { MaintenanceKind.routine.interval * $0 })
    }

    @Test func `a worker whose call ran a task waits one interval`() {
        var pace = MaintenancePace(.routine)
        for _ in 1...4 { pace.answered(tasks: 0) }
        pace.answered(tasks: 1)
        #expect(pace == MaintenancePace(.routine))
    }

    @Test(arguments: [MaintenanceKind.urgent, .owner, .schedule])
    func `the calls of other kinds keep their interval`(_ kind: MaintenanceKind) {
        var pace = MaintenancePace(kind)
        for _ in 1...4 { pace.answered(tasks: 0) }
        #expect(pace.wait == kind.interval)
    }
}
