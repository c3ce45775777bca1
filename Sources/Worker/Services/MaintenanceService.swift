internal import JobQueue

/// Calls one kind of the queue's maintenance at its interval. A task that another worker runs at the time is skipped.
struct MaintenanceService: WorkerService {
    let kind: MaintenanceKind
    let queue: PostgresJobQueue
    let observe: @Sendable (WorkerEvent) -> Void

    func run() async {
        while !Task.isCancelled {
            do throws(QueueError) {
                // A full portion means that there is probably more work of this kind.
                if try await queue.maintain(kind) >= PostgresJobQueue.maintenancePortion { continue }
            } catch {
                observe(.queueUnavailable(error))
            }
            try? await Task.sleep(for: kind.interval)
        }
    }
}
