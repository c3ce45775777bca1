internal import JobQueue

/// Calls one kind of the queue's maintenance at its interval. Every worker does; what another one is doing is skipped.
struct MaintenanceService: WorkerService {
    let kind: MaintenanceKind
    let queue: PostgresJobQueue
    let observe: @Sendable (WorkerEvent) -> Void

    func run() async {
        while !Task.isCancelled {
            do throws(QueueError) {
                // After a full portion there is probably more of the same.
                if try await queue.maintain(kind) >= PostgresJobQueue.maintenancePortion { continue }
            } catch {
                observe(.queueUnavailable(error))
            }
            try? await Task.sleep(for: kind.interval)
        }
    }
}
