/// The pure part of `AsyncSemaphore`: grants permits in the order of the requests.
package struct SemaphoreQueue: Sendable {
    /// Permits that are not granted.
    package private(set) var free: Int
    private var waiting: [UInt64] = []

    /// A queue with `permits` permits.
    package init(permits: Int) { free = permits }

    /// Waiting tickets.
    package var waitingCount: Int { waiting.count }

    /// True when the permit was granted at once; otherwise `ticket` waits.
    package mutating func acquire(_ ticket: UInt64) -> Bool {
        guard free > 0 else {
            waiting.append(ticket)
            return false
        }
        free -= 1
        return true
    }

    /// Returns a permit; the ticket to which it was passed on, if one waited.
    package mutating func release() -> UInt64? {
        guard waiting.isEmpty else { return waiting.removeFirst() }
        free += 1
        return nil
    }

    /// Removes a waiting ticket; false when it did not wait.
    @discardableResult
    package mutating func leave(_ ticket: UInt64) -> Bool {
        guard let index = waiting.firstIndex(of: ticket) else { return false }
        waiting.remove(at: index)
        return true
    }
}

/// A counting semaphore for tasks, first come, first served.
package final class AsyncSemaphore: Sendable {
    private let waiters: Waiters<SemaphoreQueue, Bool>

    /// A semaphore of `permits` permits, at least 1.
    package init(_ permits: Int) {
        precondition(permits > 0, "a semaphore needs a permit")
        waiters = Waiters(SemaphoreQueue(permits: permits))
    }

    /// Permits that are not granted.
    package var free: Int { waiters.withState { $0.free } }

    /// Waits for a permit, which must be released; false when the task was cancelled first.
    package func acquire() async -> Bool {
        await waiters.wait(
            cancelled: false,
            ask: { queue, ticket in queue.acquire(ticket) ? true : nil },
            leave: { queue, ticket in queue.leave(ticket) })
    }

    /// Returns one permit.
    package func release() {
        waiters.resume { queue in queue.release().map { [($0, true)] } ?? [] }
    }
}
