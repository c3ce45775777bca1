private import CLinux

/// A fixed number of threads on which calls may block: name look-ups, fsync, waiting for a child.
///
/// What waits for a thread is bounded by the callers: each worker slot has at most one call here.
package final class ThreadPool: Sendable {
    /// What a thread does, and what it does after that, when it has let go of all that the first part held.
    private typealias Work = @Sendable () -> @Sendable () -> Void

    private struct State: Sendable {
        private var waiting: [Work?] = []
        private var head = 0
        var stopped = false

        mutating func append(_ work: @escaping Work) { waiting.append(work) }

        mutating func next() -> Work? {
            guard head < waiting.count else { return nil }
            defer {
                waiting[head] = nil
                head += 1
                // What is done goes away now and then, also when the pool is never idle.
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

    /// What the threads hold, so that the pool itself can go and thereby stop them.
    private let state = ConditionLock(State())

    /// Starts `threads` threads called `name`.
    package init(name: String, threads: Int) {
        precondition(threads > 0, "a pool needs a thread")
        let state = state
        for _ in 0..<threads {
            startThread {
                larder_thread_set_name(String(name.prefix(15)))
                while let finish = Self.step(state) { finish() }
            }
        }
    }

    deinit { state.change(wakingAll: true) { $0.stopped = true } }

    /// Does the next piece of work, and drops it; nil at the end.
    private static func step(_ state: ConditionLock<State>) -> (@Sendable () -> Void)? {
        guard case .work(let work) = turn(state) else { return nil }
        return work()
    }

    private static func turn(_ state: ConditionLock<State>) -> Turn {
        state.wait { state in state.next().map { .work($0) } ?? (state.stopped ? .end : nil) }
    }

    /// Runs `body` on one of the threads without waiting for it; the caller bounds how many it submits.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        state.change {
            $0.append {
                body()
                return {}
            }
        }
    }

    /// Runs `body` on one of the threads and waits for it without blocking the caller's.
    ///
    /// Cancellation does not interrupt `body`: what blocks must have its own time limit. What `body` held, a temporary file
    /// perhaps, the pool holds no longer when the caller goes on.
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
