internal import Concurrency

/// A request to a worker to end. It can be made from any thread.
package final class ShutdownRequest: Sendable {
    /// How a worker ends. The urgency never decreases.
    package enum Urgency: Int, Sendable, Comparable {
        /// No shutdown is requested.
        case none
        /// Stop claiming, finish running jobs.
        case finish
        /// Cancel running jobs and release them.
        case cancel

        /// Whether `a` is less urgent than `b`.
        package static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }
    }

    private struct State: Sendable {
        var urgency = Urgency.none
        var events: [AsyncEvent] = []
    }

    private let state = Locked(State())

    /// Creates a request with the urgency `none`.
    package init() {}

    /// The urgency requested so far.
    package var urgency: Urgency { state.withLock { $0.urgency } }

    /// Requests at least this urgency.
    package func request(_ urgency: Urgency) {
        let events = state.withLock { state in
            state.urgency = max(state.urgency, urgency)
            return state.events
        }
        for event in events { event.signal() }
    }

    /// Requests the next urgency: the first call ends claiming, later ones cancel what runs.
    ///
    /// - Returns: whether this is the first request.
    package func requestNext() -> Bool {
        let isFirst = urgency == .none
        request(isFirst ? .finish : .cancel)
        return isFirst
    }

    /// Returns once a shutdown was requested, or when the task is cancelled.
    package func wait() async {
        let event = AsyncEvent()
        await signalling(event) { if urgency == .none { await event.wait() } }
    }

    /// Runs `body`; until its return each request signals `event`.
    func signalling<Value>(_ event: AsyncEvent, during body: () async -> Value) async -> Value {
        state.withLock { $0.events.append(event) }
        defer { state.withLock { $0.events.removeAll { $0 === event } } }
        return await body()
    }
}
