package import Concurrency

/// How a worker is asked to end: first gently, then firmly. May be pressed from any thread, a signal handler's too.
public final class ShutdownRequest: Sendable {
    /// How urgent it is.
    public enum Urgency: Int, Sendable, Comparable {
        /// Go on working.
        case none
        /// Claim nothing more, finish what runs.
        case finish
        /// Cancel what runs and give it back.
        case cancel

        /// Whether `a` is less urgent than `b`.
        public static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }
    }

    private let state = Locked(Urgency.none)
    package let doorbell = AsyncEvent()

    /// A signal not yet given.
    public init() {}

    /// How urgent it is now.
    public var urgency: Urgency { state.withLock { $0 } }

    /// Asks for at least this urgency; it never falls.
    public func ask(_ urgency: Urgency) {
        state.withLock { $0 = max($0, urgency) }
        doorbell.signal()
    }
}
