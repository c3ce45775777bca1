internal import Concurrency

/// Tells a worker's services that maintenance is due, as heartbeats report it.
///
/// The database reports due maintenance to one worker at a time. While no heartbeat is answered, each service runs at
/// its longest interval.
package final class MaintenanceSignal: Sendable {
    private struct State: Sendable {
        var answeredAt: ContinuousClock.Instant?
        var events: [AsyncEvent] = []
    }

    private let state = Locked(State())

    package init() {}

    package func answered(isDue: Bool, at now: ContinuousClock.Instant = .now) {
        let events = state.withLock { state in
            state.answeredAt = now
            return isDue ? state.events : []
        }
        for event in events { event.signal() }
    }

    /// The signal for one service. Answers that arrive while the service is busy count for its next wait.
    package func subscribe() -> Subscription {
        let event = AsyncEvent()
        state.withLock { $0.events.append(event) }
        return Subscription(signal: self, event: event)
    }

    package struct Subscription: Sendable {
        fileprivate let signal: MaintenanceSignal
        fileprivate let event: AsyncEvent

        /// Returns at the first answer that maintenance is due, but not before `shortest`; after `longest` without any
        /// answer; or when the task is cancelled.
        package func wait(atLeast shortest: Duration, atMost longest: Duration) async {
            let start = ContinuousClock.now
            try? await Task.sleep(for: shortest)
            while !Task.isCancelled {
                let answeredAt = signal.state.withLock { $0.answeredAt }
                let left = max(start, answeredAt ?? start) + longest - .now
                if left <= .zero { return }
                if await event.wait(atMost: left) { return }
            }
        }
    }
}
