/// The state of `AsyncSemaphore`: grants permits in order of request, without overtaking.
package struct SemaphoreQueue: Sendable {
    package private(set) var free: Int
    private var waiting: [(ticket: UInt64, count: Int)] = []

    package init(permits: Int) { free = permits }

    /// True if `count` permits were granted immediately; otherwise `ticket` waits.
    package mutating func acquire(_ ticket: UInt64, _ count: Int = 1) -> Bool {
        guard waiting.isEmpty, count <= free else {
            waiting.append((ticket, count))
            return false
        }
        free -= count
        return true
    }

    /// Returns permits, and the tickets to which they are passed on.
    package mutating func release(_ count: Int = 1) -> [UInt64] {
        free += count
        var granted: [UInt64] = []
        while let next = waiting.first, next.count <= free {
            free -= next.count
            granted.append(next.ticket)
            waiting.removeFirst()
        }
        return granted
    }

    /// Removes a waiting ticket; false if it was not waiting. `release(0)` then grants what it blocked.
    @discardableResult
    package mutating func leave(_ ticket: UInt64) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return false }
        waiting.remove(at: index)
        return true
    }
}

/// A counting semaphore for tasks, first come, first served.
package final class AsyncSemaphore: Sendable {
    private let waiters: Waiters<SemaphoreQueue, Bool>
    /// All permits, granted or not.
    package let permits: Int

    /// At least 1 permit.
    package init(_ permits: Int) {
        precondition(permits > 0, "a semaphore needs a permit")
        self.permits = permits
        waiters = Waiters(SemaphoreQueue(permits: permits))
    }

    package var free: Int { waiters.withState { $0.free } }

    /// Waits for `count` permits (1…`permits`) and takes them; false if the task was cancelled first. The caller must
    /// release them.
    package func acquire(_ count: Int = 1) async -> Bool {
        precondition(count <= permits, "there are not so many permits")
        let isGranted = await waiters.wait(
            cancelled: false,
            enter: { queue, ticket in queue.acquire(ticket, count) ? true : nil },
            leave: { queue, ticket in queue.leave(ticket) })
        // A cancelled request may have blocked smaller ones behind it.
        if !isGranted { release(0) }
        return isGranted
    }

    package func release(_ count: Int = 1) {
        waiters.resume { queue in queue.release(count).map { ($0, true) } }
    }
}
