internal import Concurrency
import Glibc

/// A worker's right to publish. It is valid while the last confirmed heartbeat is younger than the lease less a margin.
///
/// Without a confirmation the lease is neither valid nor lost: the database may be unavailable, and no job is given to
/// another worker before it has been up for a lease. The next heartbeat that is answered confirms or ends it.
///
/// The boot-time clock counts while the machine sleeps and cannot be set, so a worker that was stopped for a minute
/// finds its lease unconfirmed before it changes the cache.
package final class Lease: Sendable {
    private struct State: Sendable {
        var length: Double
        var confirmed: Double
        var isLost = false
        var waiting: [UInt64] = []

        func holds(at moment: Double) -> Bool { !isLost && moment - confirmed < length }
    }

    private let state: Waiters<State, Bool>
    private let clock: @Sendable () -> Double

    /// Seconds by which the lease ends early, so that a commit that has begun ends within it.
    package static let margin = 3.0

    /// - Parameters:
    ///   - seconds: the length of the lease, in the database 15 by default.
    ///   - sent: when the confirming call was sent; now by default.
    package init(seconds: Double, sent: Double? = nil, clock: @escaping @Sendable () -> Double = Lease.bootTime) {
        self.clock = clock
        state = Waiters(State(length: seconds - Self.margin, confirmed: sent ?? clock()))
    }

    /// Whether the worker certainly owns its jobs.
    package var holds: Bool {
        let now = clock()
        return state.withState { $0.holds(at: now) }
    }

    /// Whether the database has given the worker's jobs to other workers, or may. A lost lease stays lost.
    package var isLost: Bool { state.withState { $0.isLost } }

    /// Waits until the lease is valid or lost, or the task is cancelled. Returns whether it is valid.
    package func isConfirmed() async -> Bool {
        await state.wait(
            cancelled: false,
            enter: { [clock] state, ticket in
                if state.isLost || state.holds(at: clock()) { return !state.isLost }
                state.waiting.append(ticket)
                return nil
            },
            leave: { state, ticket in state.waiting.removeAll { $0 == ticket } })
    }

    /// Extends the lease to `seconds` after `moment`, the time before the heartbeat was sent.
    package func confirm(sentAt moment: Double, seconds: Double) {
        let now = clock()
        change {
            $0.confirmed = max($0.confirmed, moment)
            $0.length = seconds - Self.margin
            return $0.holds(at: now)
        }
    }

    /// Marks the lease as lost: the database gives the worker's jobs to other workers.
    package func lose() {
        change {
            $0.isLost = true
            return true
        }
    }

    /// Changes the state; when that decides about the lease, as `decides` returns, all waiting tasks continue.
    private func change(_ decides: (inout State) -> Bool) {
        state.resume { state in
            guard decides(&state) else { return [] }
            defer { state.waiting = [] }
            return state.waiting.map { ($0, !state.isLost) }
        }
    }

    /// The current time of the lease's clock.
    package var now: Double { clock() }

    /// Seconds since boot, sleep included (`clock_gettime`).
    package static let bootTime: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
