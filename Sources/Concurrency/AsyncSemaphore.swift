/// The pure part of `AsyncSemaphore`: who may go on, in the order of asking.
package struct SemaphoreQueue: Sendable {
    /// AsyncSemaphore nobody holds.
    package private(set) var free: Int
    private var waiting: [UInt64] = []

    /// A queue with `permits` to give.
    package init(permits: Int) { free = permits }

    /// How many wait.
    package var waitingCount: Int { waiting.count }

    /// True when the permit was granted at once; otherwise `ticket` now waits.
    package mutating func ask(_ ticket: UInt64) -> Bool {
        if free > 0 && waiting.isEmpty {
            free -= 1
            return true
        }
        waiting.append(ticket)
        return false
    }

    /// Gives a permit back; the ticket that now owns it, if one waited.
    package mutating func giveBack() -> UInt64? {
        if waiting.isEmpty {
            free += 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// Takes a waiting ticket out; false when it no longer waited.
    package mutating func leave(_ ticket: UInt64) -> Bool {
        guard let index = waiting.firstIndex(of: ticket) else { return false }
        waiting.remove(at: index)
        return true
    }
}

/// A counting limiter, first come first served, whose waiters can be cancelled.
package final class AsyncSemaphore: Sendable {
    private struct State {
        var queue: SemaphoreQueue
        var nextTicket: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        /// Tickets drawn and neither answered nor waiting yet; a cancellation in that moment leaves its mark here.
        var drawn: [UInt64: Bool] = [:]
    }

    private let state: Locked<State>

    /// A limiter of `count` permits.
    package init(_ count: Int) {
        precondition(count > 0, "a limiter needs a permit")
        state = Locked(State(queue: SemaphoreQueue(permits: count)))
    }

    /// AsyncSemaphore nobody holds.
    package var free: Int { state.withLock { $0.queue.free } }

    /// Waits for a permit; false when the task was cancelled first. A granted permit must be released.
    package func acquire() async -> Bool {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            state.drawn[state.nextTicket] = false
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    let cancelled = state.drawn.removeValue(forKey: ticket) ?? false
                    if cancelled { return false }
                    if state.queue.ask(ticket) { return true }
                    state.waiters[ticket] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter: CheckedContinuation<Bool, Never>? = state.withLock { state in
                if state.drawn[ticket] != nil {
                    state.drawn[ticket] = true
                    return nil
                }
                guard state.queue.leave(ticket) else { return nil }
                return state.waiters.removeValue(forKey: ticket)
            }
            waiter?.resume(returning: false)
        }
    }

    /// Gives one permit back.
    package func release() {
        let waiter: CheckedContinuation<Bool, Never>? = state.withLock { state in
            guard let ticket = state.queue.giveBack() else { return nil }
            return state.waiters.removeValue(forKey: ticket)
        }
        waiter?.resume(returning: true)
    }
}
