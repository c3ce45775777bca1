internal import Concurrency
import Glibc

/// A worker's right to publish, valid until the lease time minus a margin has passed since the last confirmed
/// heartbeat.
///
/// A lease that is not confirmed in time is neither valid nor lost: if the database was down, it gives no job to
/// another worker until it has been up for one lease time. The next answered heartbeat confirms or ends the lease.
///
/// Uses the boot-time clock, which cannot be set and counts while the machine sleeps: a worker that was suspended for a
/// minute finds its lease unconfirmed before it changes the cache.
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

    /// Seconds by which the lease ends early, so that a commit under way finishes within it.
    package static let margin = 3.0

    /// - Parameters:
    ///   - seconds: the length of the lease; the database's default is 15.
    ///   - sent: when the confirming call was sent; now by default.
    package init(seconds: Double, sent: Double? = nil, clock: @escaping @Sendable () -> Double = Lease.bootTime) {
        self.clock = clock
        state = Waiters(State(length: seconds - Self.margin, confirmed: sent ?? clock()))
    }

    /// True if the worker certainly owns its jobs.
    package var holds: Bool {
        let now = clock()
        return state.withState { $0.holds(at: now) }
    }

    /// True if the database has given, or may have given, the worker's jobs to other workers. A lost lease stays lost.
    package var isLost: Bool { state.withState { $0.isLost } }

    /// Waits until the lease is valid or lost, or the task is cancelled. True if it is valid.
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

    /// Extends the lease to `seconds` after `moment`, when the heartbeat was sent.
    package func confirm(sentAt moment: Double, seconds: Double) {
        let now = clock()
        change {
            $0.confirmed = max($0.confirmed, moment)
            $0.length = seconds - Self.margin
            return $0.holds(at: now)
        }
    }

    package func lose() {
        change {
            $0.isLost = true
            return true
        }
    }

    /// Changes the state. If the closure returns true, the lease is decided and all waiting tasks continue.
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
