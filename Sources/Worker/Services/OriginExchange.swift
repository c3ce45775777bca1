internal import Concurrency
internal import Downloader
internal import JobQueue

/// Exchanges origin states between workers: reports local changes at once and reads the other workers' changes every
/// second while any origin is paused, otherwise every 10 s.
struct OriginExchange: WorkerService {
    /// Time between two reads while any origin is paused.
    static let heldInterval = Duration.seconds(1)
    /// Time between two reads while no origin is paused.
    static let freeInterval = Duration.seconds(10)

    let origins: OriginLimiter
    let queue: PostgresJobQueue
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

/// Reads the rules for counting failures against an origin, once a minute.
struct OriginRules: WorkerService {
    static let interval = Duration.seconds(60)
    /// Pause after a failed read. The previous rules stay in use.
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
