internal import Concurrency

/// Asks a worker to end. May be used from any thread, also a signal handler's.
public final class ShutdownRequest: Sendable {
    /// How a worker ends. It only becomes more urgent.
    public enum Urgency: Int, Sendable, Comparable {
        /// No shutdown is requested.
        case none
        /// Claim nothing more, finish what runs.
        case finish
        /// Cancel what runs and release it.
        case cancel

        /// Whether `a` is less urgent than `b`.
        public static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }
    }

    private let state = Locked(Urgency.none)
    /// Wakes the worker's claim loop, also when a slot has become free.
    let wake = AsyncEvent()

    /// Creates a request that asks for nothing yet.
    public init() {}

    /// The urgency requested so far.
    public var urgency: Urgency { state.withLock { $0 } }

    /// Requests at least this urgency.
    public func request(_ urgency: Urgency) {
        state.withLock { $0 = max($0, urgency) }
        wake.signal()
    }
}
