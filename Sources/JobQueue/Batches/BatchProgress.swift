/// A batch, by id or name.
public enum BatchReference: Sendable {
    case id(Int64)
    /// The latest batch of that name; `name@3` is its third, `name@-1` the one before the latest.
    case name(String)

    /// The form that SQL functions take: a text of digits is an id, because a name is not all digits.
    var text: String {
        switch self {
        case .id(let id): String(id)
        case .name(let name): name
        }
    }
}

/// The progress of a batch, exact at the moment it was read. Its cost does not depend on the number of jobs.
///
/// `total` = `open` + `finished` at every instant. `finished`, `skipped` and `total` are the counts of SDWebImage's
/// prefetch token (5.21.5, `SDWebImagePrefetcher`).
public struct BatchProgress: Sendable {
    /// The states of a batch.
    public enum State: String, Sendable {
        /// Accepts URLs.
        case open
        /// Refuses further URLs; some items are open.
        case sealed
        /// Its jobs are not claimed; it accepts URLs unless it is sealed.
        case paused
        /// Refuses further URLs; its open items are finished as cancelled. Final.
        case cancelled
        /// Sealed, and no item is open. A retry of its failures reopens it.
        case finished
    }

    /// The id.
    public let id: Int64
    /// The name; nil for a batch without one.
    public let name: String?
    /// The run of the name, from 1.
    public let run: Int
    /// The state.
    public let state: State
    /// Items enqueued, duplicates included.
    public let total: Int
    /// Items that succeeded, fresh ones included.
    public let succeeded: Int
    /// Items that failed, blocked and invalid ones included.
    public let failed: Int
    /// Items that were cancelled.
    public let cancelled: Int
    /// Items answered `fresh`.
    public let fresh: Int
    /// Items answered `blocked`.
    public let blocked: Int
    /// Items answered `invalid`.
    public let invalid: Int
    /// Items answered `joined`.
    public let joined: Int
    /// Attempts that failed and were retried.
    public let retries: Int
    /// Downloads by jobs of this batch.
    public let downloads: Int
    /// Variants made by jobs of this batch.
    public let variants: Int
    /// Body bytes received.
    public let bytesIn: Int
    /// Bytes written to the cache.
    public let bytesOut: Int
    let opened: UTCTime
    let ended: UTCTime?

    /// Items finished per second: a mean over 30 s, or over the life of a batch that is over or younger. This and the
    /// following are 0, nil or empty in progress without details.
    public internal(set) var rate = 0.0
    /// Time from opening to the end, or until now.
    public internal(set) var elapsed = Duration.zero
    /// Time until it finishes at this rate; nil when nothing finishes, it is paused, or nothing is open.
    public internal(set) var eta: Duration?
    /// Median time in ms from claim to completion of its succeeded jobs, to a few percent; nil before the first.
    public internal(set) var p50: Double?
    /// The 95 % quantile of the same.
    public internal(set) var p95: Double?
    /// Since when it is paused, ISO 8601 in UTC, and the role that paused it; nil when it is not.
    public internal(set) var pause: (since: String, by: String?)?
    /// The most frequent errors, at most five.
    public internal(set) var topErrors: [ErrorCount] = []

    /// Items not yet finished.
    public var open: Int { total - finished }
    /// `succeeded` + `failed` + `cancelled`.
    public var finished: Int { succeeded + failed + cancelled }
    /// Items that ended with an error: `failed` + `cancelled`.
    public var skipped: Int { failed + cancelled }
    /// Finished items in percent, to a tenth; 100 for an empty batch.
    public var percent: Double {
        total == 0 ? 100 : (Double(finished) * 1_000 / Double(total)).rounded() / 10
    }
    /// When it was opened: ISO 8601 in UTC, by the clock of the database.
    public var openedAt: String { opened.iso8601 }
    /// Seconds since 1970 at which it ended; nil before.
    public var endedAt: Double? { ended.map { Double($0.microseconds) / 1e6 } }
    /// Time from opening to the end; nil before.
    public var duration: Duration? { ended.map { .microseconds($0.microseconds - opened.microseconds) } }
    /// When maintenance found it finished; nil before.
    public var finishedAt: String? { ended?.iso8601 }
}

/// The remaining work of a batch or of a queue.
package struct Remaining: Sendable {
    /// True when a job could be claimed now; not in a paused queue or batch.
    package let hasReady: Bool
    /// True when a worker holds a job, also a dead one until its jobs are rescued.
    package let hasRunning: Bool
    /// True when a job is suspended.
    package let hasSuspended: Bool
    /// Time until the next scheduled job is due, zero when it is overdue; nil when none is scheduled.
    package let nextDue: Duration?
    /// The scheduled jobs, of a queue at most 10,000; nil unless they were to be counted.
    package let scheduled: Int?

    /// True when nothing is ready, running or scheduled.
    package var isDrained: Bool { !hasReady && !hasRunning && nextDue == nil }
}
