internal import Concurrency
internal import Downloader
internal import JobQueue

/// Reads every minute the rules by which failures count against an origin.
struct OriginRules: WorkerService {
    /// The time between two reads.
    static let interval = Duration.seconds(60)
    /// The time until the next read after one that failed; the previous rules stay in use.
    static let retryInterval = Duration.seconds(1)

    let origins: OriginLimiter
    let queue: PostgresJobQueue
    let observe: @Sendable (WorkerEvent) -> Void

    func run() async {
        while !Task.isCancelled {
            do throws(QueueError) {
                let faults = OriginFaults(try await queue.workers.originFaults())
                origins.limits.withLock { $0.faults = faults }
                try? await Task.sleep(for: Self.interval)
            } catch {
                observe(.queueUnavailable(error))
                try? await Task.sleep(for: Self.retryInterval)
            }
        }
    }
}
