internal import Concurrency
internal import JobQueue

/// When the services of a worker make their calls: at their intervals, but while the worker is idle only those that its
/// claims answer as due.
///
/// A worker is idle for some time after such a claim. So one that the database does not answer keeps no service from
/// its calls.
final class DueCalls: Sendable {
    /// How long the answer to a claim holds; the next one comes within `WorkerState.idlePauses`.
    static let lifetime = Duration.seconds(2)

    private struct State: Sendable {
        var idleUntil: ContinuousClock.Instant?
        var rounds = 0
        var mustClaim = false
    }

    private let state = Locked(State())
    private let events: [DueCall: AsyncEvent]

    /// - Parameter origins: what is signalled when there are reports about origins; nil for a worker without a limiter.
    init(origins: AsyncEvent? = nil) {
        var events = Dictionary(uniqueKeysWithValues: DueCall.allCases.map { ($0, AsyncEvent()) })
        if let origins { events[.origins] = origins }
        self.events = events
    }

    /// The claims of an idle worker that returned no job so far.
    var rounds: Int { state.withLock { $0.rounds } }

    /// A claim of an idle worker returned no job, and that these calls are due.
    func answered(_ due: Set<DueCall>) {
        state.withLock {
            $0.idleUntil = .now + Self.lifetime
            $0.rounds += 1
        }
        for call in due { events[call]?.signal() }
    }

    /// The worker is not idle any more: services for which jobs or leases wait go on at once.
    func endIdle() {
        let wasIdle = state.withLock { state in
            defer { state.idleUntil = nil }
            return state.idleUntil != nil
        }
        guard wasIdle else { return }
        for call in [DueCall.urgent, .routine, .origins] { events[call]?.signal() }
    }

    /// Waits until a call is to be made: when it is due, and when the worker is not idle after `interval` too.
    func wait(for call: DueCall, after interval: Duration) async {
        guard let event = events[call] else { return }
        let intervalEnd = ContinuousClock.now + interval
        while !Task.isCancelled {
            let now = ContinuousClock.now
            let idleEnd = state.withLock { $0.idleUntil }.flatMap { $0 > now ? $0 : nil }
            let end = idleEnd ?? intervalEnd
            guard end > now else { return }
            await event.wait(atMost: end - now)
            if ContinuousClock.now < end { return }
        }
    }

    /// Maintenance has probably made jobs ready: the worker is to claim at once.
    func foundJobs() { state.withLock { $0.mustClaim = $0.idleUntil != nil } }

    /// Whether the worker is to claim at once; true once.
    func takeMustClaim() -> Bool {
        state.withLock { state in
            defer { state.mustClaim = false }
            return state.mustClaim
        }
    }
}
