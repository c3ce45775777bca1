package import Concurrency
package import JobQueue

/// When the services of a worker make their calls: when an answer to a heartbeat or to an idle claim names them.
///
/// An answer holds for some time, within which the next one comes. Without one the calls are made at their intervals,
/// so a worker that the database does not answer keeps no service from its calls.
package final class DueCalls: Sendable {
    private struct State: Sendable {
        var answeredUntil: ContinuousClock.Instant?
        var waiting: Set<DueCall> = []
        var isIdle = false
        var rounds = 0
        var mustClaim = false
    }

    /// The time between two looks whether the last answer still holds.
    private static let recheck = Duration.seconds(1)

    private let lifetime: Duration
    private let state = Locked(State())
    private let events: [DueCall: AsyncEvent]

    /// - Parameters:
    ///   - origins: what is signalled when there are reports about origins; nil for a worker without a limiter.
    ///   - lifetime: how much longer an answer holds than until the next one is expected.
    package init(origins: AsyncEvent? = nil, lifetime: Duration = .milliseconds(1_250)) {
        var events = Dictionary(uniqueKeysWithValues: DueCall.allCases.map { ($0, AsyncEvent()) })
        if let origins { events[.origins] = origins }
        self.events = events
        self.lifetime = lifetime
    }

    /// The claims of an idle worker that returned no job so far.
    var rounds: Int { state.withLock { $0.rounds } }

    /// Those of the calls `handled` whose services wait for them. A service that is busy, or whose call has just failed,
    /// leaves what is due to other workers.
    package func awaited(among handled: Set<DueCall>) -> Set<DueCall> {
        let waiting = state.withLock { $0.waiting }
        return handled.filter { $0 == .end || waiting.contains($0) }
    }

    /// A heartbeat, or a claim of an idle worker that returned no job, was answered with these calls.
    ///
    /// - Parameter next: the time until the next answer; the answer holds for that longer.
    package func answered(_ due: Set<DueCall>, isIdle: Bool, next: Duration = .milliseconds(750)) {
        state.withLock {
            $0.answeredUntil = .now + lifetime + next
            if isIdle {
                $0.isIdle = true
                $0.rounds += 1
            }
        }
        for call in due { events[call]?.signal() }
    }

    /// The worker holds no job, so its next heartbeat is seconds away, and it is not idle yet.
    func heartbeatsPause() {
        state.withLock { if !$0.isIdle { $0.answeredUntil = nil } }
    }

    /// The worker is not idle any more: services for which jobs or leases wait go on at once.
    func endIdle() {
        let wasIdle = state.withLock { state in
            guard state.isIdle else { return false }
            (state.isIdle, state.answeredUntil) = (false, nil)
            return true
        }
        guard wasIdle else { return }
        for call in [DueCall.urgent, .routine, .origins] { events[call]?.signal() }
    }

    /// Waits until a call is to be made: when it is due, and after `interval` while no answer holds.
    ///
    /// - Parameter alsoUnnamed: whether it is made after `interval` while an answer to a heartbeat holds, too.
    package func wait(for call: DueCall, after interval: Duration, alsoUnnamed: Bool = false) async {
        guard let event = events[call] else { return }
        let intervalEnd = ContinuousClock.now + interval
        state.withLock { _ = $0.waiting.insert(call) }
        defer { state.withLock { _ = $0.waiting.remove(call) } }
        while !Task.isCancelled {
            let now = ContinuousClock.now
            let answerEnd = state.withLock { alsoUnnamed && !$0.isIdle ? nil : $0.answeredUntil }
            let end = min(max(intervalEnd, answerEnd ?? now), now + Self.recheck)
            guard end > now else { return }
            if await event.wait(atMost: end - now) { return }
        }
    }

    /// Maintenance has probably made jobs ready: the worker is to claim at once.
    func foundJobs() { state.withLock { $0.mustClaim = $0.isIdle } }

    /// Whether the worker is to claim at once; true once.
    func takeMustClaim() -> Bool {
        state.withLock { state in
            defer { state.mustClaim = false }
            return state.mustClaim
        }
    }
}
