internal import Concurrency
internal import Downloader
internal import JobQueue

/// Extends the lease with heartbeats, cancels the attempts whose jobs were cancelled, and makes services call what is
/// due.
///
/// The claims of a worker that is idle for some time extend its lease: it then sends heartbeats only when these fail.
package struct HeartbeatService: WorkerService {
    /// The factors of the pause that the database answers. Random, so that no worker is always a little before another
    /// one and gets all calls that are due.
    static let spread = 0.94...1.06
    /// How much longer it is while the worker holds none; random, so that workers that start together do not send
    /// together. Several heartbeats fit in a lease.
    static let idleTime: ClosedRange<Double> = 1.75...2.75
    /// The age in seconds up to which a lease that an idle worker's claims extend needs no heartbeat.
    static let idleAge = 4.0

    let session: WorkerSession
    let lease: Lease
    let running: RunningTasks<Claim>
    /// Where it is kept how far this machine's clock is off; nil for a loader without origins.
    let origins: OriginLimiter?
    /// Whether the worker holds no job, and what is signalled when it holds one again.
    let isIdle: @Sendable () -> Bool, started: AsyncEvent
    /// The calls of services, and for which of them heartbeats ask.
    let due: DueCalls, handled: Set<DueCall>
    /// Wakes the claim loop.
    let wake: AsyncEvent
    let observe: @Sendable (WorkerEvent) -> Void

    /// The time until the next heartbeat.
    package static func wait(_ pause: Duration) -> Duration { pause * Double.random(in: spread) }

    package func run() async {
        var pause = WorkerSession.heartbeatPause
        while true {
            if isIdle() {
                due.heartbeatsPause()
                await started.wait(atMost: .seconds(Double.random(in: Self.idleTime)))
                // Soon after, so that services need not go on by themselves.
                pause = WorkerSession.heartbeatPause
            }
            try? await Task.sleep(for: Self.wait(pause))
            if Task.isCancelled { return }
            let holdsJobs = !isIdle()
            if !holdsJobs, lease.age < Self.idleAge { continue }
            let sent = lease.now
            do throws(QueueError) {
                let reply = try await session.heartbeat(handling: holdsJobs ? due.awaited(among: handled) : [])
                if reply.leaseExpired {
                    lease.lose()
                    return wake.signal()
                }
                origins?.limits.withLock { $0.evidence.clockOffset = reply.clockOffset }
                lease.confirm(sentAt: sent, seconds: reply.lease.seconds)
                running.cancel(reply.cancelled)
                pause = reply.pause
                if holdsJobs { due.answered(reply.due, isIdle: false, next: pause) }
            } catch {
                if error.code == .workerLost {
                    lease.lose()
                    return wake.signal()
                }
                observe(.queueUnavailable(error))
            }
        }
    }
}
