/// A serial executor on the threads of a pool, for actors that block and are too many for a thread each.
///
/// Runs one job at a time, on any of the threads, in the order in which they came. A job waits while all threads are
/// in use.
package final class PooledExecutor: SerialExecutor {
    private struct State: Sendable {
        var jobs: [UnownedJob] = []
        /// Whether the pool has been given the first job.
        var isRunning = false
    }

    private let pool: ThreadPool
    private let state = Locked(State())

    /// Keeps the pool.
    package init(_ pool: ThreadPool) { self.pool = pool }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { pool.submit { self.runNext() } }
    }

    /// Runs one job; the next one waits behind the jobs of other executors.
    private func runNext() {
        let job = state.withLock { $0.jobs.removeFirst() }
        job.runSynchronously(on: asUnownedSerialExecutor())
        let hasMore = state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return state.isRunning
        }
        if hasMore { pool.submit { self.runNext() } }
    }
}
