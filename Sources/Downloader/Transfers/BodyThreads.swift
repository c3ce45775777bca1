internal import Concurrency

/// The threads that write bodies to files. Up to three hanging writes delay no other transfer; a fourth delays all
/// bodies until one ends.
///
/// Bounds the memory of waiting bodies: no transfer starts while the number of busy files equals the transfer limit,
/// and `isFull` pauses transfers that are not paused otherwise.
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

    /// - Parameter hasRoomAgain: called on one of the threads when `hasRoom` becomes true.
    init(_ configuration: FetchConfiguration, hasRoomAgain: @escaping @Sendable () -> Void) {
        maximumBusy = configuration.transfers
        maximumBytes = configuration.waitingBytes
        self.hasRoomAgain = hasRoomAgain
    }

    var hasRoom: Bool { state.withLock { $0.busy < maximumBusy } }

    /// Whether waiting bodies have reached their total limit.
    var isFull: Bool { state.withLock { $0.waitingBytes >= maximumBytes } }

    /// Changes the number of waiting bytes.
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
