import Concurrency
import JobQueue

/// What the workers of a fleet have done since it was last taken.
struct FleetCounts: Sendable {
    /// Jobs that were completed as succeeded.
    var completed = 0
    /// Completions that were refused because the job had been given to another worker.
    var stale = 0
    /// Workers that died, and that lost their lease.
    var died = 0, lost = 0
    /// Calls that failed, and the error of the last one.
    var failed = 0
    var lastError: String?
    /// The times of the calls in milliseconds, by what they did.
    var claims: [Double] = [], completions: [Double] = [], heartbeats: [Double] = []

    /// Adds the entries of a later time.
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

/// Collects what the workers of a fleet do.
final class FleetLedger: Sendable {
    private struct State: Sendable {
        var counts = FleetCounts()
        var completed = 0
    }

    private let state = Locked(State())
    /// The queues of the workers that live now, by their place.
    private let queues = Locked<[Int: PostgresJobQueue]>([:])

    /// Jobs that were completed as succeeded since the start.
    var completed: Int { state.withLock { $0.completed } }

    /// The connections to the pooler that are open.
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

    /// What was added since the last call.
    func take() -> FleetCounts {
        state.withLock { state in
            defer { state.counts = FleetCounts() }
            return state.counts
        }
    }

    /// Notes the queue of the worker that lives at a place; nil when it has ended.
    func set(_ queue: PostgresJobQueue?, at place: Int) { queues.withLock { $0[place] = queue } }
}
