internal import Concurrency

/// How many loads of a manager are in each stage now.
final class LoadsInFlight: Sendable {
    private let counts = Locked<[LoadError.Stage: Int]>([:])

    /// The stages in which a load is.
    var current: [LoadError.Stage: Int] { counts.withLock { $0 }.filter { $0.value > 0 } }

    /// A load enters the stage; it calls `leave` afterwards.
    func enter(_ stage: LoadError.Stage) { counts.withLock { $0[stage, default: 0] += 1 } }

    /// A load leaves the stage.
    func leave(_ stage: LoadError.Stage) { counts.withLock { $0[stage, default: 0] -= 1 } }
}
