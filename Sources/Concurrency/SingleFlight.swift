/// Runs one piece of work per key at a time: the first caller runs it, concurrent callers wait for its value.
///
/// A key's callers change roles as follows:
/// - none → running: a caller runs its work.
/// - running → none: the work ends; its value goes to the caller and all waiters.
/// - running → running: the caller was cancelled, or its value is not shared; the first waiter runs its own work.
///
/// A cancelled waiter stops waiting. The work is cancelled with the caller that runs it.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private enum Turn: Sendable {
        case run
        case value(Value)
        case cancelled
    }

    private let waiters = Waiters<[Key: [UInt64]], Turn>([:])

    package init() {}

    /// Callers waiting for another caller's work.
    package var waiterCount: Int { waiters.withState { $0.values.reduce(0) { $0 + $1.count } } }

    /// Returns the value of `work`, or of another caller's equal work.
    ///
    /// - Parameter isShared: whether a value is also for the waiters; every value by default.
    /// - Returns: nil if the task was cancelled before it ran `work` or received a value.
    package func run(
        _ key: Key, sharing isShared: (Value) -> Bool = { _ in true }, _ work: () async -> Value
    ) async -> Value? {
        let turn = await waiters.wait(
            cancelled: .cancelled,
            enter: { running, ticket in
                if running[key]?.append(ticket) != nil { return nil }
                running[key] = []
                return .run
            },
            leave: { running, ticket in running[key]?.removeAll { $0 == ticket } })
        switch turn {
        case .cancelled: return nil
        case .value(let value): return value
        case .run:
            let value = await work()
            let isFinal = !Task.isCancelled && isShared(value)
            waiters.resume { running in
                let waiting = running[key] ?? []
                guard let next = waiting.first, !isFinal else {
                    running[key] = nil
                    return waiting.map { ($0, .value(value)) }
                }
                running[key] = Array(waiting.dropFirst())
                return [(next, .run)]
            }
            return value
        }
    }
}
