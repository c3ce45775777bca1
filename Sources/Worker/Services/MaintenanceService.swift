internal import Concurrency
package import JobQueue

/// Calls one kind of the queue's maintenance when it is due. A task that another worker runs at the time is skipped.
package struct MaintenanceService: WorkerService {
    private let kind: MaintenanceKind
    private let queue: PostgresJobQueue
    private let due: DueCalls
    private let foundJobs: @Sendable () -> Void
    private let observe: @Sendable (WorkerEvent) -> Void

    /// - Parameters:
    ///   - foundJobs: called when jobs have probably become ready.
    ///   - observe: called for each error of the database, not for a call that was interrupted for another one.
    package init(
        _ kind: MaintenanceKind, queue: PostgresJobQueue, due: DueCalls, foundJobs: @escaping @Sendable () -> Void,
        observe: @escaping @Sendable (WorkerEvent) -> Void
    ) {
        self.kind = kind
        self.queue = queue
        self.due = due
        self.foundJobs = foundJobs
        self.observe = observe
    }

    package func run() async {
        while !Task.isCancelled {
            do throws(QueueError) {
                let moved = try await queue.maintain(kind)
                if moved > 0, kind == .urgent || kind == .schedule { foundJobs() }
                // A full portion means that there is probably more work of this kind.
                if moved >= PostgresJobQueue.maintenancePortion { continue }
            } catch {
                if error.code != .interrupted { observe(.queueUnavailable(error)) }
                // Meanwhile the calls that are due are those of other workers.
                try? await Task.sleep(for: kind.interval)
                continue
            }
            await due.wait(for: DueCall(kind), after: kind.interval)
        }
    }
}
