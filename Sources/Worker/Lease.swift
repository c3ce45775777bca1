internal import Concurrency
import Glibc

/// A worker's right to publish: it holds while the last confirmed heartbeat is younger than the lease less a margin.
///
/// It counts on the boot-time clock, which goes on while the machine sleeps and which cannot be set: a worker that was
/// stopped for a minute finds its lease lost before it touches the cache.
package final class Lease: Sendable {
    private struct State: Sendable {
        var length: Double
        var confirmed: Double
        var isLost = false
    }

    private let state: Locked<State>
    private let clock: @Sendable () -> Double

    /// Seconds that the lease ends early, for a write under way.
    package static let margin = 3.0

    /// A lease of `seconds` (15 by default in the database), confirmed at the moment `asked`.
    package init(seconds: Double, asked: Double? = nil, clock: @escaping @Sendable () -> Double = Lease.bootTime) {
        self.clock = clock
        state = Locked(State(length: seconds - Self.margin, confirmed: asked ?? clock()))
    }

    /// Whether the worker still owns its jobs. A lost lease stays lost, as work may have been dropped for it.
    package var holds: Bool {
        let now = clock()
        return state.withLock { state in
            if now - state.confirmed >= state.length { state.isLost = true }
            return !state.isLost
        }
    }

    /// The database confirmed the lease, for `seconds` from the moment before the question was sent.
    package func confirm(askedAt moment: Double, seconds: Double) {
        state.withLock {
            $0.confirmed = max($0.confirmed, moment)
            $0.length = seconds - Self.margin
        }
    }

    /// The database has given the worker's jobs to others.
    package func lose() { state.withLock { $0.isLost = true } }

    /// The current time of the lease's clock.
    package var now: Double { clock() }

    /// Seconds since boot, sleep included. The corresponding C function is `clock_gettime`.
    package static let bootTime: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
