/// The pure part of `AsyncSemaphore`: grants permits in the order of the requests, so that none is overtaken.
package struct SemaphoreQueue: Sendable {
    /// How many permits are free.
    package private(set) var free: Int
    private var waiting: [(ticket: UInt64, count: Int)] = []

    /// A queue with `permits` permits.
    package init(permits: Int) { free = permits }

    /// True when `count` permits were granted at once; otherwise `ticket` waits.
    package mutating func acquire(_ ticket: UInt64, _ count: Int = 1) -> Bool {
        guard waiting.isEmpty, count <= free else {
            waiting.append((ticket, count))
            return false
        }
        free -= count
        return true
    }

    /// Returns permits; the tickets to which they were passed on.
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

    /// Removes a waiting ticket; false when it did not wait. `release(0)` then grants what it blocked.
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

    /// A semaphore of `permits` permits, at least 1.
    package init(_ permits: Int) {
        precondition(permits > 0, "a semaphore needs a permit")
        self.permits = permits
        waiters = Waiters(SemaphoreQueue(permits: permits))
    }

    /// How many permits are free.
    package var free: Int { waiters.withState { $0.free } }

    /// Waits until `count` permits (1…`permits`) are free and takes them; false when the task was cancelled first. The
    /// caller releases them.
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
