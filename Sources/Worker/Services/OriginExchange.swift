internal import Concurrency
internal import Downloader
internal import JobQueue

/// Exchanges the states of origins between workers: reports local changes at once, and reads those of others when a
/// heartbeat answers that there are any, then about every second until there are none. While the worker is idle it
/// reads nothing but when holds have ended, and at once when it has a job again.
struct OriginExchange: WorkerService {
    /// The time between two reads of the origins that other workers hold.
    static let interval = Duration.seconds(1)

    let origins: OriginLimiter
    let queue: PostgresJobQueue
    /// The number of the worker that reports.
    let worker: Int64
    let due: DueCalls
    let observe: @Sendable (WorkerEvent) -> Void

    func run() async {
        while !Task.isCancelled {
            let isAnyHeld: Bool
            let changes = origins.limits.withLock { $0.takeChanges() }
            do throws(QueueError) {
                try await queue.report(origins.reports(changes), by: worker)
                let known = try await queue.originHolds().compactMap { row in
                    Origin(queueName: row.origin).map { (origin: $0, change: OriginChange(row)) }
                }
                let mustAnswer = origins.limits.withLock {
                    $0.shared(changes, known: known)
                    return $0.adopt(known)
                }
                if mustAnswer { origins.changed.signal() }
                isAnyHeld = !known.isEmpty
            } catch {
                origins.limits.withLock { $0.putBack(changes) }
                observe(.queueUnavailable(error))
                try? await Task.sleep(for: Self.interval)
                // The reports do not wait for the end of idleness.
                continue
            }
            await due.wait(for: .origins, after: Self.interval, alsoUnnamed: isAnyHeld)
        }
    }
}
