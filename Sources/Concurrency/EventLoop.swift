import Glibc

/// How an `EventLoop`'s thread waits for events when it has no job: `curl_multi_poll` with `curl_multi_wakeup`, `poll`
/// with an eventfd, or a condition variable.
package protocol EventPoller: Sendable {
    /// Waits for `wake` or an event, and handles the event. Called only on the loop's thread; an earlier `wake` ends it
    /// immediately.
    ///
    /// - Parameter mayWait: false while jobs wait: handles pending events and returns.
    func poll(mayWait: Bool)
    /// Ends one `poll`, from any thread.
    func wake()
}

/// A serial executor on one named thread, for an actor that owns C handles or blocks.
///
/// A task that mostly calls such an actor may prefer this executor, which saves two thread switches per call; it must
/// end before the actor. The thread keeps its executor alive until `stop()`, which the actor calls in its `deinit`.
package final class EventLoop: SerialExecutor, TaskExecutor {
    private struct State: Sendable {
        var jobs: [UnownedJob] = []
        var isStopped = false
        var thread: pthread_t?
    }

    /// Consecutive turns with jobs before events are polled.
    private static let turnsBetweenPolls = 16

    private let name: String
    private let poller: any EventPoller
    private let state = Locked(State())

    /// Starts the thread. The kernel keeps 15 bytes of `name`. Without a poller the thread only runs jobs.
    package init(name: String, poller: any EventPoller = ConditionPoller()) {
        self.name = name
        self.poller = poller
        startThread(name) { self.run() }
    }

    /// Ends the thread once its queue is empty. Later jobs never run.
    package func stop() {
        state.withLock { $0.isStopped = true }
        poller.wake()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The caller does not retain this executor: once the lock is free, the thread may run the job, which may end
        // the task, its actor and so this executor.
        state.withLock {
            $0.jobs.append(job)
            poller.wake()
        }
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package func checkIsolated() {
        precondition(isCurrent, "this code must run on the thread \(name)")
    }

    private var isCurrent: Bool {
        let current = pthread_self()
        return state.withLock { $0.thread == current }
    }

    private func run() {
        let current = pthread_self()
        state.withLock { $0.thread = current }
        var busyTurns = 0
        while true {
            let (jobs, isStopped) = state.withLock { state in
                defer { state.jobs.removeAll(keepingCapacity: true) }
                return (state.jobs, state.isStopped)
            }
            for job in jobs {
                job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
            if jobs.isEmpty, isStopped { return }
            // Many jobs must not starve events, but polling after each would cost more than a short job.
            busyTurns = jobs.isEmpty ? 0 : busyTurns + 1
            if busyTurns % Self.turnsBetweenPolls == 0 { poller.poll(mayWait: jobs.isEmpty) }
        }
    }
}

/// Waits on a condition variable, for a loop without events.
package final class ConditionPoller: EventPoller {
    private let isWoken = ConditionLock(false)

    package init() {}

    package func poll(mayWait: Bool) {
        guard mayWait else { return }
        isWoken.wait { isWoken -> Void? in
            defer { isWoken = false }
            return isWoken ? () : nil
        }
    }

    package func wake() { isWoken.change { $0 = true } }
}
