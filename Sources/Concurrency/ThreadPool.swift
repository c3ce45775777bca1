/// A fixed number of threads for blocking calls: name lookups, fsync, waiting for a child process.
///
/// The queue is unbounded: each caller limits the calls that it submits.
package final class ThreadPool: Sendable {
    /// A call; returns what the thread does after releasing everything that the call held.
    private typealias Work = @Sendable () -> @Sendable () -> Void

    private struct State: Sendable {
        private var waiting: [Work?] = []
        private var head = 0
        var isStopped = false

        mutating func append(_ work: @escaping Work) { waiting.append(work) }

        mutating func next() -> Work? {
            guard head < waiting.count else { return nil }
            defer {
                waiting[head] = nil
                head += 1
                // In portions, so that taking the next call costs O(1) even if the pool is never idle.
                if head == waiting.count || head >= 256 {
                    waiting.removeFirst(head)
                    head = 0
                }
            }
            return waiting[head]
        }
    }

    private enum Turn: Sendable {
        case work(Work)
        case end
    }

    /// The threads hold only this state: the pool can be released, which ends them.
    private let state = ConditionLock(State())

    /// Starts `threads` threads called `name`.
    ///
    /// - Parameter blocksBrokenPipes: whether a write to a closed pipe fails with EPIPE instead of ending the process.
    package init(name: String, threads: Int, blocksBrokenPipes: Bool = false) {
        precondition(threads > 0, "a pool needs a thread")
        let state = state
        for _ in 0..<threads {
            startThread(name) {
                if blocksBrokenPipes { blockBrokenPipes() }
                while let finish = Self.runNext(state) { finish() }
            }
        }
    }

    deinit { state.change(wakingAll: true) { $0.isStopped = true } }

    /// Runs the next call and releases it; nil at the end.
    private static func runNext(_ state: ConditionLock<State>) -> (@Sendable () -> Void)? {
        let turn: Turn = state.wait { state in state.next().map { .work($0) } ?? (state.isStopped ? .end : nil) }
        guard case .work(let work) = turn else { return nil }
        return work()
    }

    /// Runs `body` on one of the threads without waiting.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        state.change {
            $0.append {
                body()
                return {}
            }
        }
    }

    /// Runs `body` on one of the threads and suspends the calling task until it returns.
    ///
    /// Cancellation does not interrupt `body`: a blocking call needs its own time limit. When the caller continues, the
    /// pool has released everything captured by `body`, such as a temporary file.
    package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            state.change {
                $0.append {
                    let result: Result<Value, Failure>
                    do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
                    return { continuation.resume(returning: result) }
                }
            }
        }
        return try result.get()
    }
}

extension ThreadPool {
    /// As `run`, but gives up the call after `time`, including its wait for a thread, or when the task is cancelled.
    /// The thread is occupied until `body` returns; a call that has not begun never runs.
    package func run<Value: Sendable, Failure: Error>(
        within time: Duration, late: Failure, cancelled: Failure,
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let call = LimitedCall<Value, Failure>()
        let result = await withTaskGroup(of: Void.self, returning: Result<Value, Failure>.self) { group in
            group.addTask {
                try? await Task.sleep(for: time)
                call.end(.failure(Task.isCancelled ? cancelled : late))
            }
            submit {
                guard !call.hasEnded else { return }
                do throws(Failure) { call.end(.success(try body())) } catch { call.end(.failure(error)) }
            }
            let result = await call.result()
            group.cancelAll()
            return result
        }
        return try result.get()
    }
}

/// A call that only ends once.
private final class LimitedCall<Value: Sendable, Failure: Error>: Sendable {
    private enum State: Sendable {
        case running
        case awaited(CheckedContinuation<Result<Value, Failure>, Never>)
        case ended(Result<Value, Failure>)
    }

    private let state = Locked(State.running)

    var hasEnded: Bool { state.withLock { if case .ended = $0 { true } else { false } } }

    func end(_ result: Result<Value, Failure>) {
        let caller = state.withLock { state -> CheckedContinuation<Result<Value, Failure>, Never>? in
            if case .ended = state { return nil }
            let last = state
            state = .ended(result)
            if case .awaited(let caller) = last { return caller }
            return nil
        }
        caller?.resume(returning: result)
    }

    func result() async -> Result<Value, Failure> {
        await withCheckedContinuation { caller in
            let ended = state.withLock { state -> Result<Value, Failure>? in
                if case .ended(let result) = state { return result }
                state = .awaited(caller)
                return nil
            }
            if let ended { caller.resume(returning: ended) }
        }
    }
}

extension ThreadPool: TaskExecutor {
    /// Runs a part of a task that prefers the pool. The pool must outlive the task.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// A serial executor on a pool's threads, for blocking actors that are too many for a thread each.
///
/// Runs one job at a time, in order, on any of the threads. A job waits while all threads are busy.
package final class PooledExecutor: SerialExecutor {
    private struct State: Sendable {
        var jobs: [UnownedJob] = []
        /// Whether the first job was submitted to the pool.
        var isRunning = false
    }

    private let pool: ThreadPool
    private let state = Locked(State())

    /// Keeps the pool alive.
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

    /// Runs one job; the next one queues behind other executors' jobs.
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
