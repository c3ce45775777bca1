/// The counts of a prefetcher's tokens, and what is to be told at each end of a load: a pure value.
///
/// Finished counts every element, skipped those that failed; each element counts once, on its last word. What the
/// observer hears are sums over the tokens that still run, which fall when one of them completes.
/// Source: SDWebImage 5.21.5, `SDWebImagePrefetcher`; two of its faults are not copied: an element that counts twice under
/// RefreshCached, and a finish that is told when a cancelled token's last load ends.
struct PrefetchCounters: Sendable {
    typealias Token = PrefetchToken.ID

    /// Something to be told, in order.
    enum Event: Sendable, Equatable {
        /// To the observer: an element ended; sums over the running tokens.
        case prefetched(url: String, finished: Int, total: Int)
        /// To the token's own progress closure.
        case progress(Token, finished: Int, total: Int)
        /// To the observer: the only running token is complete.
        case allFinished(total: Int, skipped: Int)
        /// To the token's own completion closure: the last word of it.
        case completed(Token, PrefetchCounts)
    }

    private var running: [Token: PrefetchCounts] = [:]

    /// Tokens that run.
    var tokens: [Token] { Array(running.keys) }

    /// Sums over the tokens that run.
    var sums: PrefetchCounts {
        running.values.reduce(into: PrefetchCounts()) { sums, counts in
            sums.finished += counts.finished
            sums.skipped += counts.skipped
            sums.total += counts.total
        }
    }

    /// A token of `total` elements, at least one, runs from now on.
    mutating func submit(_ token: Token, total: Int) { running[token] = PrefetchCounts(total: total) }

    /// An element of a token has ended.
    mutating func end(_ token: Token, url: String, failed: Bool) -> [Event] {
        guard var counts = running[token] else {
            // A cancelled token's load: the observer hears of it, with the sums of the others.
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

    /// A token is given up: nothing more is told of it. False when it did not run.
    mutating func cancel(_ token: Token) -> Bool { running.removeValue(forKey: token) != nil }
}

/// How far a token is.
public struct PrefetchCounts: Sendable, Equatable {
    /// Elements that ended, failed ones included.
    public var finished = 0
    /// Elements that failed.
    public var skipped = 0
    /// Elements in all, duplicates counted.
    public var total = 0

    init(finished: Int = 0, skipped: Int = 0, total: Int = 0) {
        self.finished = finished
        self.skipped = skipped
        self.total = total
    }
}
