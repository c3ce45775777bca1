/// A batch, by number or name.
public enum BatchReference: Sendable {
    /// The number that opening it answered.
    case id(Int64)
    /// Its name.
    case name(String)

    /// The batch as functions in SQL take it: a text in digits is an id, because no name is all digits.
    var text: String {
        switch self {
        case .id(let id): String(id)
        case .name(let name): name
        }
    }
}

/// Where a batch stands: exact at the moment it was read, from the ledger, without counting jobs.
///
/// `total` = `open` + `finished` at every instant. `finished`, `skipped` and `total` are the counts of SDWebImage's
/// prefetch token (5.21.5, `SDWebImagePrefetcher`).
public struct BatchProgress: Sendable {
    /// The stations of a batch.
    public enum State: String, Sendable {
        /// Takes more URLs.
        case open
        /// Takes no more URLs; some items are open.
        case sealed
        /// Held by an operator.
        case paused
        /// Cancelled.
        case cancelled
        /// Sealed and no item is open.
        case finished
    }

    /// The batch's number.
    public let id: Int64
    /// Its name, when it has one.
    public let name: String?
    /// Where it stands.
    public let state: State
    /// Items submitted, duplicates counted.
    public let total: Int
    /// Items that succeeded, fresh ones included.
    public let succeeded: Int
    /// Items that failed, blocked and invalid ones included.
    public let failed: Int
    /// Items cancelled.
    public let cancelled: Int
    /// Items answered `fresh`.
    public let fresh: Int
    /// Items answered `blocked`.
    public let blocked: Int
    /// Items answered `invalid`.
    public let invalid: Int
    /// Items answered `joined`.
    public let joined: Int
    /// Attempts that were put off for another try.
    public let retries: Int
    /// Downloads made by the batch's own jobs.
    public let downloads: Int
    /// Variants made by the batch's own jobs.
    public let variants: Int
    /// Body bytes received.
    public let bytesIn: Int
    /// Bytes written to the cache.
    public let bytesOut: Int
    let opened: UTCTime
    let over: UTCTime?

    /// Finished items per second of late: a mean over 30 s; over the batch's life when it is younger or over. This and
    /// what follows is 0, nil or empty in progress without details.
    public internal(set) var rate = 0.0
    /// Time since the batch was opened, until it finished.
    public internal(set) var elapsed = Duration.zero
    /// Time until it finishes at this rate; nil when nothing moves, it is paused, or nothing is open.
    public internal(set) var eta: Duration?
    /// Milliseconds from claim to complete within which half of its own jobs were done, to a few percent; nil before the first.
    public internal(set) var p50: Double?
    /// The same for 95 % of them.
    public internal(set) var p95: Double?
    /// The most frequent errors, at most five.
    public internal(set) var topErrors: [ErrorCount] = []

    /// Items not yet finished.
    public var open: Int { total - finished }
    /// Items finished: `succeeded` + `failed` + `cancelled`.
    public var finished: Int { succeeded + failed + cancelled }
    /// Items finished with an error: `failed` + `cancelled`.
    public var skipped: Int { failed + cancelled }
    /// Finished items in percent of all, to a tenth; 100 for an empty batch.
    public var percent: Double {
        total == 0 ? 100 : (Double(finished) * 1_000 / Double(total)).rounded() / 10
    }
    /// When it was opened: ISO 8601 in UTC, by the database's clock.
    public var openedAt: String { opened.iso8601 }
    /// When it was over; nil before, and for a moment after.
    public var finishedAt: String? { over?.iso8601 }
}

/// What is left to do, of one batch or of all, by the database's clock.
public struct Remaining: Sendable {
    /// True when a job is ready to be claimed; what is ready in a paused queue cannot be.
    public let hasReady: Bool
    /// True when a worker, live or not yet rescued, holds a job.
    public let hasRunning: Bool
    /// True when a job is suspended: it waits for an operator.
    public let hasParked: Bool
    /// Time until the next scheduled job is due, zero when overdue; nil when none is scheduled.
    public let nextDue: Duration?

    /// True when nothing is ready, running or scheduled.
    public var isDrained: Bool { !hasReady && !hasRunning && nextDue == nil }
}
