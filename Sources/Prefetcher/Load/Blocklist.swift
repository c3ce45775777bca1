internal import Concurrency

/// The URLs that failed permanently, checked before anything else of a load.
///
/// URLs are compared byte by byte. Source: SDWebImage 5.21.5, `SDWebImageManager.failedURLs`.
public protocol Blocklist: Sendable {
    /// Whether `url` is blocked.
    func contains(_ url: String) async -> Bool
    /// Blocks `url`.
    func insert(_ url: String) async
    /// Unblocks `url`.
    func remove(_ url: String) async
}

/// A bounded blocklist in memory, for programs without a database.
///
/// A block lasts 24 h and doubles with each further failure, up to 30 days. Unlike SDWebImage's, it ends by itself. A full
/// list drops its oldest URLs.
public final class MemoryBlocklist: Blocklist {
    private struct Entry: Sendable {
        var until: ContinuousClock.Instant
        var duration: Duration
        let number: UInt64
    }

    private struct State: Sendable {
        var entries: [[UInt8]: Entry] = [:]
        var order: [(number: UInt64, url: [UInt8])] = []
        var nextNumber: UInt64 = 0
    }

    private static let shortest = Duration.seconds(24 * 3600)
    private static let longest = Duration.seconds(30 * 24 * 3600)

    private let capacity: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Locked(State())

    /// An empty list of at most `capacity` URLs, 100,000 by default.
    public convenience init(capacity: Int = 100_000) { self.init(capacity: capacity) { .now } }

    init(capacity: Int, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        precondition(capacity > 0, "a blocklist needs room for one URL")
        self.capacity = capacity
        self.now = now
    }

    /// Whether `url` is blocked now.
    public func contains(_ url: String) -> Bool {
        let now = now()
        return state.withLock { state in state.entries[Array(url.utf8)].map { $0.until > now } ?? false }
    }

    /// Blocks `url` for 24 h, or for twice its last duration.
    public func insert(_ url: String) {
        let now = now()
        let url = Array(url.utf8)
        state.withLock { state in
            if let known = state.entries[url] {
                let duration = min(known.duration * 2, Self.longest)
                state.entries[url] = Entry(until: now + duration, duration: duration, number: known.number)
                return
            }
            state.nextNumber += 1
            state.entries[url] = Entry(
                until: now + Self.shortest, duration: Self.shortest, number: state.nextNumber)
            state.order.append((state.nextNumber, url))
            Self.trim(&state, to: capacity)
        }
    }

    /// Unblocks `url`; a later block begins with 24 h again.
    public func remove(_ url: String) { _ = state.withLock { $0.entries.removeValue(forKey: Array(url.utf8)) } }

    /// Unblocks every URL.
    public func removeAll() {
        state.withLock { state in
            state.entries = [:]
            state.order = []
        }
    }

    /// Drops the oldest eighth of a full list, and the order's entries of removed URLs.
    private static func trim(_ state: inout State, to capacity: Int) {
        guard state.entries.count > capacity || state.order.count > 2 * capacity else { return }
        let entries = state.entries
        state.order.removeAll { entries[$0.url]?.number != $0.number }
        guard entries.count > capacity else { return }
        let surplus = entries.count - capacity + capacity / 8
        for oldest in state.order.prefix(surplus) { state.entries[oldest.url] = nil }
        state.order.removeFirst(surplus)
    }
}
