import JobQueue
import Testing

struct MaintenancePaceTests {
    @Test(arguments: [MaintenanceKind.urgent, .routine])
    func `a worker whose calls find nothing due waits twice as long each time, up to eight intervals`(
        _ kind: MaintenanceKind
    ) {
        var pace = MaintenancePace(kind)
        var waits = [pace.wait]
        for _ in 1...5 {
            pace.answered(tasks: 0)
            waits.append(pace.wait)
        }
        #expect(waits == [1, 2, 4, 8, 8, 8].map { kind.interval * $0 })
    }

    @Test func `a worker whose call ran a task waits one interval`() {
        var pace = MaintenancePace(.urgent)
        for _ in 1...5 { pace.answered(tasks: 0) }
        pace.answered(tasks: 1)
        #expect(pace == MaintenancePace(.urgent))
    }

    @Test(arguments: [MaintenanceKind.owner, .schedule])
    func `calls of which most find nothing due, also with one worker, keep their interval`(_ kind: MaintenanceKind) {
        var pace = MaintenancePace(kind)
        for _ in 1...5 { pace.answered(tasks: 0) }
        #expect(pace.wait == kind.interval)
    }
}
