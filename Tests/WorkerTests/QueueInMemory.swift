import Concurrency
import TestSupport

@testable import JobQueue
@testable import Worker

/// A queue in process: jobs in the order they were added, with what workers answered.
final class QueueInMemory: WorkerQueue {
    /// One registration and its calls.
    final class Registration: WorkerJobs {
        let id: Int64
        let lease = Duration.seconds(15)
        let clockOffset = Duration.zero
        private let queue: QueueInMemory

        init(_ id: Int64, _ queue: QueueInMemory) {
            self.id = id
            self.queue = queue
        }

        func claim(upTo limit: Int, from source: ClaimSource) async throws(QueueError) -> [Job] {
            let result = queue.state.withLock { state -> Result<[Job], QueueError> in
                if !state.claimErrors.isEmpty { return .failure(state.claimErrors.removeFirst()) }
                let jobs = Array(state.ready.prefix(limit))
                state.ready.removeFirst(jobs.count)
                state.limits.append(limit)
                for job in jobs { state.held[job.id] = (job, id) }
                return .success(jobs)
            }
            return try result.get()
        }

        func complete(_ outcomes: [Outcome]) async throws(QueueError) -> [(claim: Claim, decision: Decision)] {
            queue.state.withLock { state in
                outcomes.map { outcome in
                    guard let (_, owner) = state.held[outcome.claim.job], owner == id else {
                        return (outcome.claim, .stale)
                    }
                    state.held[outcome.claim.job] = nil
                    state.outcomes.append(outcome)
                    switch outcome.result {
                    case .succeeded: return (outcome.claim, .succeeded)
                    case .failed(let reason, _): return (outcome.claim, .failed(reason))
                    case .cancelled: return (outcome.claim, .cancelled)
                    }
                }
            }
        }

        func snooze(_ jobs: [(claim: Claim, delay: Duration)]) async throws(QueueError) {
            queue.state.withLock { state in
                state.snoozed += jobs.map(\.claim.job)
                state.release { job, owner in owner == id && jobs.contains { $0.claim.job == job } }
            }
        }

        func forget(_ claim: Claim) {}

        func heartbeat() async throws(QueueError) -> HeartbeatReply {
            queue.state.withLock { state in
                HeartbeatReply(
                    cancelled: state.held.values.filter { state.cancelled.contains($0.job.id) }.map(\.job.held),
                    leaseExpired: state.expired.contains(id), lease: lease, pause: .milliseconds(1),
                    isMaintenanceDue: false, clockOffset: .zero)
            }
        }

        func report(fault: String?) async throws(QueueError) { queue.state.withLock { $0.faults.append(fault) } }

        func startDrain(of queue: String) async throws(QueueError) -> OtherDrain? { nil }

        func stop() async throws(QueueError) {
            queue.state.withLock { state in
                state.stopped.append(id)
                state.release { $1 == id }
            }
        }
    }

    struct State {
        var ready: [Job]
        var held: [Int64: (job: Job, owner: Int64)] = [:]
        /// What `complete` recorded, in order.
        var outcomes: [Outcome] = []
        var snoozed: [Int64] = []
        /// The limits of all claims that were answered.
        var limits: [Int] = []
        var faults: [String?] = []
        var registered: Int64 = 0
        var stopped: [Int64] = []
        /// Thrown by the next claims, one each.
        var claimErrors: [QueueError] = []
        /// Jobs that heartbeats name as cancelled while they are held.
        var cancelled: Set<Int64> = []
        /// Registrations whose lease has ended.
        var expired: Set<Int64> = []

        /// Makes held jobs ready again.
        mutating func release(_ isReleased: (_ job: Int64, _ owner: Int64) -> Bool) {
            for (id, (job, owner)) in held.sorted(by: { $0.key < $1.key }) where isReleased(id, owner) {
                held[id] = nil
                ready.append(job)
            }
        }
    }

    let state: Locked<State>

    /// Jobs 1…count, with URLs that end in their number.
    init(jobs count: Int) {
        state = Locked(State(ready: (0..<count).map { Job(id: Int64($0 + 1), claim: 1, url: "http://a/\($0 + 1)") }))
    }

    func register(_ description: WorkerDescription) async throws(QueueError) -> any WorkerJobs {
        state.withLock { state in
            // The database gives the jobs of an expired lease to others.
            state.release { [expired = state.expired] in expired.contains($1) }
            state.registered += 1
            return Registration(state.registered, self)
        }
    }

    func pipeline(id: Int) async throws(QueueError) -> PipelineVersion {
        PipelineVersion(id: id, name: "p", version: 1, spec: #"{"name":"p","variants":[]}"#)
    }

    func openItems(of batch: Int64) async throws(QueueError) -> Int {
        state.withLock { $0.ready.count + $0.held.count }
    }

    func remaining(of batch: Int64?, queue: String) async throws(QueueError) -> Remaining {
        state.withLock { state in
            Remaining(
                hasReady: !state.ready.isEmpty, hasRunning: !state.held.isEmpty, hasSuspended: false, nextDue: nil,
                scheduled: nil)
        }
    }
}
