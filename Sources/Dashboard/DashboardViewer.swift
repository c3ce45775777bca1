import Concurrency

/// The place of one stream of events, taken when its request is accepted and free again with the last reference.
///
/// Not counted when the stream begins: requests at the same time would all find the last place free.
final class DashboardViewer: Sendable {
    private let count: Locked<Int>

    /// - Returns: nil when `count` has reached `limit`.
    init?(_ count: Locked<Int>, limit: Int) {
        let isFree = count.withLock { taken in
            guard taken < limit else { return false }
            taken += 1
            return true
        }
        guard isFree else { return nil }
        self.count = count
    }

    deinit { count.withLock { $0 -= 1 } }
}
