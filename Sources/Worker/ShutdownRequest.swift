internal import Concurrency

/// A request to stop a worker, from any thread.
package final class ShutdownRequest: Sendable {
    /// How a worker stops. The urgency never decreases.
    package enum Urgency: Int, Sendable, Comparable {
        case none
        /// Stop claiming; finish running jobs.
        case finish
        /// Cancel running jobs and release them.
        case cancel

        package static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }
    }

    private struct State: Sendable {
        var urgency = Urgency.none
        var events: [AsyncEvent] = []
    }

    private let state = Locked(State())

    package init() {}

    package var urgency: Urgency { state.withLock { $0.urgency } }

    /// Requests at least this urgency.
    package func request(_ urgency: Urgency) {
        let events = state.withLock { state in
            state.urgency = max(state.urgency, urgency)
            return state.events
        }
        for event in events { event.signal() }
    }

    /// Requests the next urgency: the first call ends claiming, the second cancels running jobs.
    ///
    /// - Returns: true for the first request.
    package func requestNext() -> Bool {
        let isFirst = urgency == .none
        request(isFirst ? .finish : .cancel)
        return isFirst
    }

    /// Returns when a shutdown is requested or the task is cancelled.
    package func wait() async {
        let event = AsyncEvent()
        await signalling(event) { if urgency == .none { await event.wait() } }
    }

    /// Runs `body`; meanwhile each request signals `event`.
    func signalling<Value>(_ event: AsyncEvent, during body: () async -> Value) async -> Value {
        state.withLock { $0.events.append(event) }
        defer { state.withLock { $0.events.removeAll { $0 === event } } }
        return await body()
    }
}
