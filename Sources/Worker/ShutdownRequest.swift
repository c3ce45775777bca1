internal import Concurrency

/// A request to a worker to end. It can be made from any thread.
public final class ShutdownRequest: Sendable {
    /// How a worker ends. The urgency never decreases.
    public enum Urgency: Int, Sendable, Comparable {
        /// No shutdown is requested.
        case none
        /// Stop claiming, finish running jobs.
        case finish
        /// Cancel running jobs and release them.
        case cancel

        /// Whether `a` is less urgent than `b`.
        public static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }
    }

    private let state = Locked(Urgency.none)
    /// Wakes the worker's claim loop, also when a slot has become free.
    let wake = AsyncEvent()

    /// Creates a request with the urgency `none`.
    public init() {}

    /// The urgency requested so far.
    public var urgency: Urgency { state.withLock { $0 } }

    /// Requests at least this urgency.
    public func request(_ urgency: Urgency) {
        state.withLock { $0 = max($0, urgency) }
        wake.signal()
    }
}
