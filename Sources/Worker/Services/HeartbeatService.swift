internal import Concurrency
internal import Downloader
internal import JobQueue

/// Renews the lease with heartbeats, cancels the attempts of cancelled jobs, and signals due maintenance.
package struct HeartbeatService: WorkerService {
    /// Random factors of the pause that the database returns. Without them one worker could always come first and get
    /// all maintenance.
    static let spread = 0.94...1.06

    let session: any WorkerJobs
    let lease: Lease
    let running: RunningTasks<Claim>
    /// Receives this machine's clock offset; nil if the loader has no origins.
    let origins: OriginLimiter?
    let isIdle: @Sendable () -> Bool
    let maintenance: MaintenanceSignal
    /// Wakes the claim loop.
    let wake: AsyncEvent
    let observe: @Sendable (WorkerEvent) -> Void

    package static func wait(_ pause: Duration, isIdle: Bool = false) -> Duration {
        isIdle ? .seconds(Double.random(in: WorkerState.idlePauses)) : pause * Double.random(in: spread)
    }

    package func run() async {
        var pause = WorkerSession.heartbeatPause
        while true {
            try? await Task.sleep(for: Self.wait(pause, isIdle: isIdle()))
            if Task.isCancelled { return }
            let sent = lease.now
            do throws(QueueError) {
                let reply = try await session.heartbeat()
                if reply.leaseExpired {
                    lease.lose()
                    return wake.signal()
                }
                origins?.limits.withLock { $0.evidence.clockOffset = reply.clockOffset }
                lease.confirm(sentAt: sent, seconds: reply.lease.seconds)
                running.cancel(reply.cancelled)
                pause = reply.pause
                maintenance.answered(isDue: reply.isMaintenanceDue)
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
