internal import Executors
internal import JobQueue

/// What a shift counts: slots taken and freed, and how jobs ended.
final class Tally: Sendable {
    private struct State: Sendable {
        var summary: PrefetchWorker.Summary
        var running = 0
        var freed = 0
    }

    private let state: Locked<State>

    init(_ summary: PrefetchWorker.Summary) { state = Locked(State(summary: summary)) }

    var summary: PrefetchWorker.Summary { state.withLock { $0.summary } }
    var running: Int { state.withLock { $0.running } }

    /// A slot was taken.
    func start() { state.withLock { $0.running += 1 } }

    /// A slot is free again: its outcome is committed, or there is none to commit.
    func finish() {
        state.withLock {
            $0.running -= 1
            $0.freed += 1
        }
    }

    /// How many slots became free since the last call.
    func takeFreed() -> Int {
        state.withLock { state in
            defer { state.freed = 0 }
            return state.freed
        }
    }

    /// Counts one committed attempt.
    func count(_ decision: Settlement.Decision) {
        state.withLock { state in
            switch decision {
            case .succeeded: state.summary.succeeded += 1
            case .failed: state.summary.failed += 1
            case .retried: state.summary.retried += 1
            case .cancelled, .stale, .busy: break
            }
        }
    }

    /// What the end found left.
    func leave(_ left: PrefetchWorker.Summary.Left) { state.withLock { $0.summary.left = left } }
}
