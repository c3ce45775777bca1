internal import Concurrency
import Glibc

/// A worker's right to publish. It is valid while the last confirmed heartbeat is younger than the lease less a margin.
///
/// The boot-time clock counts while the machine sleeps and cannot be set, so a worker that was stopped for a minute
/// finds its lease lost before it changes the cache.
package final class Lease: Sendable {
    private struct State: Sendable {
        var length: Double
        var confirmed: Double
        var isLost = false
    }

    private let state: Locked<State>
    private let clock: @Sendable () -> Double

    /// Seconds by which the lease ends early, so that a commit that has begun ends within it.
    package static let margin = 3.0

    /// - Parameters:
    ///   - seconds: the length of the lease, in the database 15 by default.
    ///   - asked: when the confirming call was sent; now by default.
    package init(seconds: Double, asked: Double? = nil, clock: @escaping @Sendable () -> Double = Lease.bootTime) {
        self.clock = clock
        state = Locked(State(length: seconds - Self.margin, confirmed: asked ?? clock()))
    }

    /// Whether the worker still owns its jobs. A lost lease stays lost: other workers may run its jobs.
    package var holds: Bool {
        let now = clock()
        return state.withLock { state in
            if now - state.confirmed >= state.length { state.isLost = true }
            return !state.isLost
        }
    }

    /// Extends the lease to `seconds` after `moment`, the time before the heartbeat was sent.
    package func confirm(askedAt moment: Double, seconds: Double) {
        state.withLock {
            $0.confirmed = max($0.confirmed, moment)
            $0.length = seconds - Self.margin
        }
    }

    /// Marks the lease as lost: the database has given the worker's jobs to other workers.
    package func lose() { state.withLock { $0.isLost = true } }

    /// The current time of the lease's clock.
    package var now: Double { clock() }

    /// Seconds since boot, sleep included (`clock_gettime`).
    package static let bootTime: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
