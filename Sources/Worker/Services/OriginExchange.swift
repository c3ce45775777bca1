internal import Concurrency
internal import Downloader
internal import JobQueue

/// Exchanges the states of origins between workers: reports local changes at once, and reads the others' about
/// every second while any origin is held, else every 10 s.
struct OriginExchange: WorkerService {
    /// The time between two reads while any origin is held.
    static let heldInterval = Duration.seconds(1)
    /// The time between two reads while none is known to be held.
    static let freeInterval = Duration.seconds(10)

    let origins: OriginLimiter
    let queue: PostgresJobQueue
    /// The number of the worker that reports.
    let worker: Int64
    let observe: @Sendable (WorkerEvent) -> Void

    func run() async {
        while !Task.isCancelled {
            let changes = origins.limits.withLock { $0.takeChanges() }
            do throws(QueueError) {
                let reports = changes.flatMap { origin, changes in changes.map { $0.report(of: origin) } }
                try await queue.workers.report(reports, by: worker)
                let asked = ContinuousClock.now
                let known = try await queue.workers.originHolds().compactMap { row in
                    Origin(queueName: row.origin).map { (origin: $0, change: OriginChange(row)) }
                }
                let mustAnswer = origins.limits.withLock {
                    $0.shared(changes, known: known)
                    return $0.adopt(known, asked: asked)
                }
                if mustAnswer { continue }
                await origins.changed.wait(atMost: known.isEmpty ? Self.freeInterval : Self.heldInterval)
            } catch {
                origins.limits.withLock { $0.putBack(changes) }
                observe(.queueUnavailable(error))
                try? await Task.sleep(for: Self.heldInterval)
            }
        }
    }
}

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
