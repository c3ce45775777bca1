/// A prefetcher's counts per token, and the events that follow each load.
///
/// `finished` counts every element once, `skipped` the failed ones. The observer's numbers are sums over running tokens
/// and fall when a token completes. Source: SDWebImage 5.21.5, `SDWebImagePrefetcher`, without two of its bugs:
/// RefreshCached elements count twice, and finish is reported when a cancelled token's last load ends.
struct PrefetchCounters: Sendable {
    typealias Token = PrefetchToken.ID

    enum Event: Sendable, Equatable {
        /// For the observer: an element ended. Sums over running tokens.
        case prefetched(url: String, finished: Int, total: Int)
        /// For the token's progress closure.
        case progress(Token, finished: Int, total: Int)
        /// For the observer: the only running token is complete.
        case allFinished(total: Int, skipped: Int)
        /// For the token's completion closure; its last event.
        case completed(Token, PrefetchCounts)
    }

    private var running: [Token: PrefetchCounts] = [:]

    var tokens: [Token] { Array(running.keys) }

    var sums: PrefetchCounts {
        running.values.reduce(into: PrefetchCounts()) { sums, counts in
            sums.finished += counts.finished
            sums.skipped += counts.skipped
            sums.total += counts.total
        }
    }

    mutating func submit(_ token: Token, total: Int) { running[token] = PrefetchCounts(total: total) }

    mutating func end(_ token: Token, url: String, failed: Bool) -> [Event] {
        guard var counts = running[token] else {
            // The observer is called for a cancelled token's load, with the sums of the others.
            let sums = sums
            return [.prefetched(url: url, finished: sums.finished, total: sums.total)]
        }
        counts.finished += 1
        if failed { counts.skipped += 1 }
        running[token] = counts
        let sums = sums
        var events: [Event] = [
            .prefetched(url: url, finished: sums.finished, total: sums.total),
            .progress(token, finished: counts.finished, total: counts.total),
        ]
        guard counts.finished == counts.total else { return events }
        if running.count == 1 { events.append(.allFinished(total: sums.total, skipped: sums.skipped)) }
        events.append(.completed(token, counts))
        running[token] = nil
        return events
    }

    /// Removes a token and its further events. False if it was not running.
    mutating func cancel(_ token: Token) -> Bool { running.removeValue(forKey: token) != nil }
}

/// The progress of a token.
public struct PrefetchCounts: Sendable, Equatable {
    /// Elements that ended, failed ones included.
    public var finished = 0
    /// Elements that failed.
    public var skipped = 0
    /// All elements, duplicates included.
    public var total = 0

    init(finished: Int = 0, skipped: Int = 0, total: Int = 0) {
        self.finished = finished
        self.skipped = skipped
        self.total = total
    }
}
