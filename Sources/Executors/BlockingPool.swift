private import CLinux
import Glibc

/// A fixed number of threads on which calls may block: name look-ups, fsync, waiting for a child.
///
/// What waits for a thread is bounded by the callers: each worker slot has at most one call here.
package final class BlockingPool: Sendable {
    private struct State: Sendable {
        var waiting: [@Sendable () -> Void] = []
        var head = 0
        var stopped = false

        mutating func next() -> (@Sendable () -> Void)? {
            guard head < waiting.count else { return nil }
            defer {
                head += 1
                if head == waiting.count {
                    waiting.removeAll(keepingCapacity: true)
                    head = 0
                }
            }
            return waiting[head]
        }
    }

    /// The part the threads hold, so that the pool itself can go and thereby stop them.
    private final class Core: @unchecked Sendable {  // protected by: `mutex`
        var state = State()
        let mutex: UnsafeMutablePointer<pthread_mutex_t> = .allocate(capacity: 1)
        let condition: UnsafeMutablePointer<pthread_cond_t> = .allocate(capacity: 1)

        init() {
            pthread_mutex_init(mutex, nil)
            pthread_cond_init(condition, nil)
        }

        deinit {
            pthread_cond_destroy(condition)
            pthread_mutex_destroy(mutex)
            condition.deallocate()
            mutex.deallocate()
        }

        func run() {
            while true {
                pthread_mutex_lock(mutex)
                var work = state.next()
                while work == nil && !state.stopped {
                    pthread_cond_wait(condition, mutex)
                    work = state.next()
                }
                pthread_mutex_unlock(mutex)
                guard let work else { return }
                work()
            }
        }

        func submit(_ work: @escaping @Sendable () -> Void) {
            pthread_mutex_lock(mutex)
            state.waiting.append(work)
            pthread_cond_signal(condition)
            pthread_mutex_unlock(mutex)
        }

        func stop() {
            pthread_mutex_lock(mutex)
            state.stopped = true
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
    }

    private let core = Core()

    /// Starts `threads` threads called `name`.
    package init(name: String, threads: Int) {
        precondition(threads > 0, "a pool needs a thread")
        let core = core
        for _ in 0..<threads {
            startThread {
                larder_thread_set_name(String(name.prefix(15)))
                core.run()
            }
        }
    }

    deinit { core.stop() }

    /// Runs `body` on one of the threads without waiting for it; the caller bounds how many it submits.
    package func submit(_ body: @escaping @Sendable () -> Void) { core.submit(body) }

    /// Runs `body` on one of the threads and waits for it without blocking the caller's.
    ///
    /// Cancellation does not interrupt `body`: what blocks must have its own time limit.
    package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            core.submit {
                do throws(Failure) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
