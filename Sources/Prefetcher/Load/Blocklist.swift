internal import Concurrency

/// The URLs that failed for good: a load asks here before it does anything else.
///
/// A URL is its bytes: another spelling is another URL. Source: SDWebImage 5.21.5, `SDWebImageManager.failedURLs`.
public protocol Blocklist: Sendable {
    /// Whether `url` is on the list.
    func contains(_ url: String) async -> Bool
    /// Puts `url` on the list.
    func insert(_ url: String) async
    /// Takes `url` off the list.
    func remove(_ url: String) async
}

/// A blocklist in memory, for a program without a database: SDWebImage's, bounded and with an end.
///
/// A URL stays for 24 h, and at each further failure twice as long as before, up to 30 days. The longest on the list
/// goes when there are too many.
public final class MemoryBlocklist: Blocklist {
    private struct Entry: Sendable {
        var until: ContinuousClock.Instant
        var stay: Duration
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
        precondition(capacity > 0, "a blocklist of no URL")
        self.capacity = capacity
        self.now = now
    }

    /// Whether `url` is on the list, and its time not over.
    public func contains(_ url: String) -> Bool {
        let now = now()
        return state.withLock { state in state.entries[Array(url.utf8)].map { $0.until > now } ?? false }
    }

    /// Puts `url` on the list: for 24 h, or twice as long as the last time.
    public func insert(_ url: String) {
        let now = now()
        let url = Array(url.utf8)
        state.withLock { state in
            if let known = state.entries[url] {
                let stay = min(known.stay * 2, Self.longest)
                state.entries[url] = Entry(until: now + stay, stay: stay, number: known.number)
                return
            }
            state.nextNumber += 1
            state.entries[url] = Entry(until: now + Self.shortest, stay: Self.shortest, number: state.nextNumber)
            state.order.append((state.nextNumber, url))
            Self.trim(&state, to: capacity)
        }
    }

    /// Takes `url` off the list, and forgets how long it was on it.
    public func remove(_ url: String) { _ = state.withLock { $0.entries.removeValue(forKey: Array(url.utf8)) } }

    /// Takes every URL off the list.
    public func removeAll() {
        state.withLock { state in
            state.entries = [:]
            state.order = []
        }
    }

    /// Lets the oldest eighth go when there are too many, and forgets the places of those that were taken off.
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
