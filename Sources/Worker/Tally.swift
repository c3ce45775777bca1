internal import Concurrency
internal import JobQueue

/// What a shift counts: slots taken and freed, and how jobs ended.
final class Tally: Sendable {
    private struct State: Sendable {
        var summary: PrefetchWorker.Summary
        var running = 0
        var freed = 0
        var filled: [Filled] = []
    }

    /// Slots that the commit which freed them filled again, as far as there were jobs.
    struct Filled: Sendable {
        let slots: Int
        let jobs: [Job]
    }

    private let state: Locked<State>

    init(_ summary: PrefetchWorker.Summary) { state = Locked(State(summary: summary)) }

    var summary: PrefetchWorker.Summary { state.withLock { $0.summary } }
    var running: Int { state.withLock { $0.running } }

    /// So many slots were taken.
    func start(_ slots: Int) { state.withLock { $0.running += slots } }

    /// So many slots are free again: their outcomes are committed, or there are none to commit.
    func finish(_ slots: Int) {
        state.withLock {
            $0.running -= slots
            $0.freed += slots
        }
    }

    /// How many slots became free since the last call.
    func takeFreed() -> Int {
        state.withLock { state in
            defer { state.freed = 0 }
            return state.freed
        }
    }

    /// So many slots were freed, and jobs claimed for them by the same commit.
    func refill(_ filled: Filled) {
        state.withLock {
            $0.running += filled.jobs.count - filled.slots
            $0.filled.append(filled)
        }
    }

    /// What was freed and filled since the last call.
    func takeFilled() -> [Filled] {
        state.withLock { state in
            defer { state.filled = [] }
            return state.filled
        }
    }

    /// Counts committed attempts.
    func count(_ completions: [CompletionResult]) {
        state.withLock { state in
            for completion in completions {
                switch completion.decision {
                case .succeeded: state.summary.succeeded += 1
                case .failed: state.summary.failed += 1
                case .retried: state.summary.retried += 1
                case .cancelled, .stale, .busy: break
                }
            }
        }
    }

    /// The time is up.
    func timeIsUp() { state.withLock { $0.summary.timeIsUp = true } }

    /// What the end found left.
    func leave(_ left: PrefetchWorker.Summary.Left) { state.withLock { $0.summary.left = left } }
}
