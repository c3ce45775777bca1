internal import JobQueue

/// Calls the queue's maintenance once a second. Every worker does; what another one is doing is skipped.
struct MaintenanceService: WorkerService {
    /// The time between two calls.
    static let interval = Duration.seconds(1)

    let observe: @Sendable (WorkerEvent) -> Void
    /// Does what is due and returns the most rows that one task moved.
    let maintain: @Sendable () async throws(QueueError) -> Int

    func run() async {
        while !Task.isCancelled {
            do throws(QueueError) {
                // After a full portion there is probably more of the same.
                if try await maintain() >= PostgresJobQueue.maintenancePortion { continue }
            } catch {
                observe(.queueUnavailable(error))
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
