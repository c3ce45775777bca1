import JobQueue
import Worker

/// How a worker that runs all the time waits for its database at the start.
struct DatabaseWait {
    /// Ends the wait.
    let stop: ShutdownRequest
    /// Whether a database that is not migrated yet is waited for, too: its probes say so meanwhile.
    let includesMigration: Bool
    /// Called after each attempt that failed, with true for the first one.
    let report: @Sendable (QueueError, Bool) -> Void

    /// Checks that the database is ready, again and again while `wait` allows.
    static func untilReady(_ queue: PostgresJobQueue, _ wait: DatabaseWait?) async throws(QueueError) {
        var isFirst = true
        while true {
            do throws(QueueError) {
                return try await queue.checkReady()
            } catch {
                guard let wait, wait.stop.urgency == .none,
                    error.isTransient || wait.includesMigration && error.code == .notMigrated
                else { throw error }
                wait.report(error, isFirst)
                isFirst = false
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }
}
