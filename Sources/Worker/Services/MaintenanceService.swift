internal import Concurrency
package import JobQueue

/// Runs one kind of queue maintenance when it is due. A task that another worker is running is skipped.
package struct MaintenanceService: WorkerService {
    private let kind: MaintenanceKind
    private let queue: PostgresJobQueue
    private let due: MaintenanceSignal.Subscription
    private let foundJobs: @Sendable () -> Void
    private let observe: @Sendable (WorkerEvent) -> Void

    /// - Parameters:
    ///   - foundJobs: called when jobs have become ready.
    ///   - observe: called for each database error, except an interruption by another call.
    package init(
        _ kind: MaintenanceKind, queue: PostgresJobQueue, signal: MaintenanceSignal,
        foundJobs: @escaping @Sendable () -> Void, observe: @escaping @Sendable (WorkerEvent) -> Void
    ) {
        self.kind = kind
        self.queue = queue
        due = signal.subscribe()
        self.foundJobs = foundJobs
        self.observe = observe
    }

    package func run() async {
        while !Task.isCancelled {
            do throws(QueueError) {
                let run = try await queue.workers.run(kind)
                if run.foundJobs { foundJobs() }
                // A full portion: there is probably more to do.
                if run.moved >= PostgresJobQueue.Workers.maintenancePortion { continue }
            } catch {
                if error.code != .interrupted { observe(.queueUnavailable(error)) }
                // Other workers run due maintenance meanwhile.
                try? await Task.sleep(for: kind.longestPause)
                continue
            }
            await due.wait(atLeast: kind.shortestPause, atMost: kind.longestPause)
        }
    }
}

extension MaintenanceKind {
    /// The shortest time between two runs on one worker.
    var shortestPause: Duration {
        switch self {
        case .urgent: .milliseconds(200)
        case .routine, .schedule: .seconds(1)
        case .owner: .seconds(5)
        }
    }

    /// Time between two runs while no heartbeat is answered. For urgent maintenance longer than a heartbeat interval,
    /// and short enough that a dead worker's jobs run again within two seconds of its lease's end.
    var longestPause: Duration {
        switch self {
        case .urgent: .milliseconds(1_800)
        case .routine, .schedule: .seconds(5)
        case .owner: .seconds(30)
        }
    }
}
