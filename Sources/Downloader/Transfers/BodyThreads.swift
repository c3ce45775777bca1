internal import Concurrency

/// The threads on which bodies are written into files, so that up to three writes that hang delay no other transfer. A
/// fourth delays all bodies until one of them ends.
///
/// The memory of bodies that wait for a thread is bounded: no transfer starts while as many files as there may be
/// transfers are being written or wait for it, and `isFull` pauses transfers that are not paused otherwise.
final class BodyThreads: Sendable {
    static let count = 4

    private struct State: Sendable {
        var busy = 0
        var waitingBytes = 0
    }

    private let pool = ThreadPool(name: "larder-body", threads: count, blocksBrokenPipes: true)
    private let state = Locked(State())
    private let maximumBusy: Int
    private let maximumBytes: Int
    private let hasRoomAgain: @Sendable () -> Void

    /// - Parameter hasRoomAgain: called on one of the threads when `hasRoom` has become true.
    init(_ configuration: FetchConfiguration, hasRoomAgain: @escaping @Sendable () -> Void) {
        maximumBusy = configuration.transfers
        maximumBytes = configuration.waitingBytes
        self.hasRoomAgain = hasRoomAgain
    }

    /// Whether another transfer may start.
    var hasRoom: Bool { state.withLock { $0.busy < maximumBusy } }

    /// Whether the bodies that wait have as many bytes as they may have together.
    var isFull: Bool { state.withLock { $0.waitingBytes >= maximumBytes } }

    /// So many bytes more, or fewer, wait.
    func wait(_ bytes: Int) { state.withLock { $0.waitingBytes += bytes } }

    /// Runs `body`, which may block, on one of the threads.
    func run(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.busy += 1 }
        pool.submit { [self] in
            body()
            let wasFull = state.withLock { state in
                state.busy -= 1
                return state.busy == maximumBusy - 1
            }
            if wasFull { hasRoomAgain() }
        }
    }
}
