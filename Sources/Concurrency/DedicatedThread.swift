private import CLinux
import Glibc

/// How a dedicated thread sleeps when it has nothing to run, and how another thread ends that sleep.
///
/// `curl_multi_poll` and `curl_multi_wakeup` are such a pair, a condition variable is another.
package protocol Parking: Sendable {
    /// Sleeps until woken or until there is work of its own; a wake that came just before must not be lost.
    /// Called on the dedicated thread only, and may do the thread's own work around the sleep.
    func park()
    /// Ends one `park`, from any thread.
    func wake()
}

/// A serial executor on one named thread of its own: where an actor lives that holds C handles or blocks.
///
/// A task that does little else than ask such an actor may prefer its thread, and so spare two switches of threads a
/// question. It must end before the actor does.
///
/// The thread keeps its executor alive until `stop()`, which the owning actor calls from its `deinit`.
package final class DedicatedThread: SerialExecutor, TaskExecutor {
    private struct State: Sendable {
        var jobs: [UnownedJob] = []
        var stopped = false
        var thread: pthread_t?
    }

    private let name: String
    private let parking: any Parking
    private let state = Locked(State())

    /// Starts the thread. The kernel keeps 15 bytes of `name`.
    package init(name: String, parking: any Parking = ConditionWait()) {
        self.name = String(name.prefix(15))
        self.parking = parking
        startThread { self.run() }
    }

    /// Lets the thread end once its queue is empty. Jobs enqueued later never run.
    package func stop() {
        state.withLock { $0.stopped = true }
        parking.wake()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        parking.wake()
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package func checkIsolated() {
        precondition(isCurrent, "this code belongs on the thread \(name)")
    }

    private var isCurrent: Bool {
        let current = pthread_self()
        return state.withLock { $0.thread == current }
    }

    private func run() {
        larder_thread_set_name(name)
        let current = pthread_self()
        state.withLock { $0.thread = current }
        while true {
            let (jobs, stopped) = state.withLock { state in
                defer { state.jobs.removeAll(keepingCapacity: true) }
                return (state.jobs, state.stopped)
            }
            for job in jobs {
                job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
            if jobs.isEmpty {
                if stopped { return }
                parking.park()
            }
        }
    }
}
