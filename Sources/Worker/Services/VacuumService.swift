internal import JobQueue

/// Vacuums tables and detaches partitions every 30 s, where the login may act as the owner of the tables.
struct VacuumService: WorkerService {
    /// The time between two rounds.
    static let interval = Duration.seconds(30)

    let queue: PostgresJobQueue
    let observe: @Sendable (WorkerEvent) -> Void

    func run() async {
        while !Task.isCancelled {
            do throws(QueueError) {
                try await queue.runHousekeeping()
            } catch {
                observe(.queueUnavailable(error))
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
