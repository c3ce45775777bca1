internal import Concurrency
import Glibc

/// A worker's right to publish: it holds while the last heartbeat is younger than the lease less a margin.
///
/// Counted on the boot-time clock, which goes on while the machine sleeps and which nobody sets: a worker that was
/// stopped for a minute finds its lease gone before it touches the cache.
package final class Lease: Sendable {
    private struct State: Sendable {
        var length: Double
        var confirmed: Double
        var lost = false
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

    /// Whether what this worker holds is still its own. Once not, never again: somebody may have acted on the first answer.
    package var holds: Bool {
        let now = clock()
        return state.withLock { state in
            if now - state.confirmed >= state.length { state.lost = true }
            return !state.lost
        }
    }

    /// The database has confirmed the lease, of `seconds` from now on, to a question asked at `moment`: the time
    /// before it was sent.
    package func confirm(askedAt moment: Double, seconds: Double) {
        state.withLock {
            $0.confirmed = max($0.confirmed, moment)
            $0.length = seconds - Self.margin
        }
    }

    /// The database no longer knows this worker.
    package func lose() { state.withLock { $0.lost = true } }

    /// Now, on the lease's clock.
    package var now: Double { clock() }

    /// Seconds since boot, sleep included. The corresponding C function is `clock_gettime`.
    package static let bootTime: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
