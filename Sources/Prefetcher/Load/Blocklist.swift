internal import Concurrency
internal import DiskCache

/// URLs that failed permanently. Checked first in each load.
///
/// URLs are compared byte by byte. Source: SDWebImage 5.21.5, `SDWebImageManager.failedURLs`.
public protocol Blocklist: Sendable {
    /// Whether `url` is blocked.
    func contains(_ url: String) async -> Bool
    /// Blocks `url`. `duration` is the length of a first block.
    func insert(_ url: String, for duration: Duration) async
    /// Unblocks `url`.
    func remove(_ url: String) async
}

/// A bounded blocklist in memory, for programs without a database.
///
/// Blocks last as long as `FailureClassification` says and double with each further failure, up to 30 days;
/// SDWebImage's never end. A full list drops the URLs that failed longest ago.
public final class MemoryBlocklist: Blocklist {
    private struct Block: Sendable {
        let end: ContinuousClock.Instant
        let duration: Duration
    }

    private static let longest = Duration.seconds(30 * 24 * 3600)

    private let now: @Sendable () -> ContinuousClock.Instant
    private let blocks: Locked<RecencyList<[UInt8], Block>>

    /// An empty list of at most `capacity` URLs, 100,000 by default.
    public convenience init(capacity: Int = 100_000) { self.init(capacity: capacity) { .now } }

    init(capacity: Int, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        precondition(capacity > 0, "a blocklist needs room for one URL")
        self.now = now
        blocks = Locked(RecencyList(countLimit: capacity))
    }

    /// Whether `url` is blocked now.
    public func contains(_ url: String) -> Bool {
        let now = now()
        return blocks.withLock { blocks in blocks.value(Array(url.utf8)).map { $0.end > now } ?? false }
    }

    /// Blocks `url` for `duration`, 24 h by default, or for twice its last duration if that is longer; at most 30 days.
    public func insert(_ url: String, for duration: Duration = .seconds(24 * 3600)) {
        let now = now()
        let url = Array(url.utf8)
        blocks.withLock { blocks in
            let duration = min(max(duration, (blocks.value(url)?.duration ?? .zero) * 2), Self.longest)
            blocks.insert(Block(end: now + duration, duration: duration), for: url)
        }
    }

    /// Unblocks `url`; a later block has the first duration again.
    public func remove(_ url: String) { blocks.withLock { _ = $0.remove(Array(url.utf8)) } }

    /// Unblocks every URL.
    public func removeAll() { blocks.withLock { $0.removeAll() } }
}
