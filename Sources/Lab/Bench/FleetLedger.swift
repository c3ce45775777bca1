import Concurrency
import JobQueue

/// A fleet's activity since it was last taken.
struct FleetCounts: Sendable {
    var completed = 0
    /// Completions refused because the job had been given to another worker.
    var stale = 0
    /// Workers that died, and that lost their lease.
    var died = 0, lost = 0
    /// Failed calls, and the last error.
    var failed = 0
    var lastError: String?
    /// Call times in milliseconds.
    var claims: [Double] = [], completions: [Double] = [], heartbeats: [Double] = []

    static func += (counts: inout FleetCounts, later: FleetCounts) {
        counts.completed += later.completed
        counts.stale += later.stale
        counts.died += later.died
        counts.lost += later.lost
        counts.failed += later.failed
        counts.lastError = later.lastError ?? counts.lastError
        counts.claims += later.claims
        counts.completions += later.completions
        counts.heartbeats += later.heartbeats
    }
}

/// Collects a fleet's activity.
final class FleetLedger: Sendable {
    private struct State: Sendable {
        var counts = FleetCounts()
        var completed = 0
    }

    private let state = Locked(State())
    /// The live workers' queues, by place.
    private let queues = Locked<[Int: PostgresJobQueue]>([:])

    /// Jobs completed as succeeded since the start.
    var completed: Int { state.withLock { $0.completed } }

    /// Open connections to the pooler.
    var connections: Int { queues.withLock { Array($0.values) }.reduce(0) { $0 + $1.openSessions } }

    func add(_ change: (inout FleetCounts) -> Void) {
        state.withLock { state in
            let before = state.counts.completed
            change(&state.counts)
            state.completed += state.counts.completed - before
        }
    }

    func failed(_ error: QueueError) {
        add {
            $0.failed += 1
            $0.lastError = error.description
        }
    }

    /// Runs a call and adds its time in milliseconds, if it succeeds.
    func timed<Value>(
        _ times: WritableKeyPath<FleetCounts, [Double]>, _ call: () async throws(QueueError) -> Value
    ) async throws(QueueError) -> Value {
        let start = ContinuousClock.now
        let value = try await call()
        let time = (ContinuousClock.now - start) / .milliseconds(1)
        add { $0[keyPath: times].append(time) }
        return value
    }

    /// The entries since the last call.
    func take() -> FleetCounts {
        state.withLock { state in
            defer { state.counts = FleetCounts() }
            return state.counts
        }
    }

    /// Sets the queue of the live worker at a place; nil when it has ended.
    func set(_ queue: PostgresJobQueue?, at place: Int) { queues.withLock { $0[place] = queue } }
}
