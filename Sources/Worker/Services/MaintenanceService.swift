internal import Concurrency
internal import JobQueue

/// Calls one kind of the queue's maintenance at its pace, or when it is due while the worker is idle. A task that
/// another worker runs at the time is skipped.
struct MaintenanceService: WorkerService {
    let kind: MaintenanceKind
    let queue: PostgresJobQueue
    let due: DueCalls
    /// Wakes the claim loop.
    let wake: AsyncEvent
    let observe: @Sendable (WorkerEvent) -> Void

    func run() async {
        var pace = MaintenancePace(kind)
        while !Task.isCancelled {
            do throws(QueueError) {
                let result = try await queue.maintain(kind)
                pace.answered(tasks: result.tasks)
                if result.moved > 0, kind == .urgent || kind == .schedule {
                    due.foundJobs()
                    wake.signal()
                }
                // A full portion means that there is probably more work of this kind.
                if result.moved >= PostgresJobQueue.maintenancePortion { continue }
            } catch {
                // A task ran and failed.
                if error.code == .refused { pace.answered(tasks: 1) }
                observe(.queueUnavailable(error))
            }
            await due.wait(for: DueCall(kind), after: pace.wait)
        }
    }
}
