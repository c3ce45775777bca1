import Glibc

/// A batch, by id or name.
public enum BatchReference: Sendable {
    case id(Int64)
    /// The latest batch of this name; `name@3` is its third run, `name@-1` the run before the latest.
    case name(String)

    /// The argument for SQL functions. Names are never all digits, so digits are an id.
    var text: String {
        switch self {
        case .id(let id): String(id)
        case .name(let name): name
        }
    }
}

/// The progress of a batch at one moment. Reading it costs the same for any number of jobs.
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
        /// Its jobs are not claimed. Accepts URLs unless sealed.
        case paused
        /// Refuses further URLs; open items finish as cancelled. Final.
        case cancelled
        /// Sealed, with no open item. Retrying its failures reopens it.
        case finished
    }

    /// The batch's id.
    public let id: Int64
    /// The batch's name; nil if it has none.
    public let name: String?
    /// The run of this name, from 1.
    public let run: Int
    /// The state.
    public let state: State
    /// Enqueued items, including duplicates.
    public let total: Int
    /// Items that succeeded, including fresh ones.
    public let succeeded: Int
    /// Items that failed, including blocked and invalid ones.
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

    /// Items finished per second: the mean of the last 30 s, or of the batch's lifetime if it is shorter or over. This
    /// and the following fields are 0, nil or empty without details.
    public internal(set) var rate = 0.0
    /// Time from opening to the end, or until now.
    public internal(set) var elapsed = Duration.zero
    /// Estimated time until it finishes; nil if nothing finishes, it is paused, or nothing is open.
    public internal(set) var eta: Duration?
    /// Median time from claim to completion of succeeded jobs in ms, accurate to a few percent; nil before the first.
    public internal(set) var p50: Double?
    /// The 95 % quantile of the same time.
    public internal(set) var p95: Double?
    /// Start of the pause, ISO 8601 in UTC, and the role that paused the batch; nil if it is not paused.
    public internal(set) var pause: (since: String, by: String?)?
    /// The most frequent errors, at most five.
    public internal(set) var topErrors: [ErrorCount] = []

    /// Unfinished items.
    public var open: Int { total - finished }
    /// `succeeded` + `failed` + `cancelled`.
    public var finished: Int { succeeded + failed + cancelled }
    /// Items that ended with an error: `failed` + `cancelled`.
    public var skipped: Int { failed + cancelled }
    /// Finished items in percent, to a tenth; 100 for an empty batch.
    public var percent: Double {
        total == 0 ? 100 : (Double(finished) * 1_000 / Double(total)).rounded() / 10
    }
    /// When it was opened, ISO 8601 in UTC by the database's clock.
    public var openedAt: String { opened.iso8601 }
    /// When it ended, in seconds since 1970; nil before.
    public var endedAt: Double? { ended.map { Double($0.microseconds) / 1e6 } }
    /// Time from opening to the end; nil before.
    public var duration: Duration? { ended.map { .microseconds($0.microseconds - opened.microseconds) } }
    /// When maintenance found it finished, ISO 8601 in UTC; nil before.
    public var finishedAt: String? { ended?.iso8601 }
}

/// The remaining work of a batch or of a queue.
package struct Remaining: Sendable {
    /// False for a paused queue or batch.
    package let hasReady: Bool
    /// Includes jobs of dead workers until they are rescued.
    package let hasRunning: Bool
    package let hasSuspended: Bool
    /// Time until the next scheduled job is due, zero if overdue; nil if none is scheduled.
    package let nextDue: Duration?
    /// Scheduled jobs, for a queue at most 10,000; nil unless counted.
    package let scheduled: Int?

    /// True if nothing is ready, running or scheduled.
    package var isDrained: Bool { !hasReady && !hasRunning && nextDue == nil }
}

/// A time by the database's clock.
struct UTCTime: Sendable {
    /// Microseconds since 1970.
    let microseconds: Int64

    /// `2026-01-31T12:34:56.789Z`, truncated to milliseconds like Postgres' `to_char`.
    var iso8601: String {
        let (seconds, rest) = microseconds.flooredQuotient(by: 1_000_000)
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func digits(_ value: some BinaryInteger, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = "\(digits(parts.tm_year + 1_900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))"
        let clock = "\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):\(digits(parts.tm_sec, 2))"
        return "\(day)T\(clock).\(digits(rest / 1_000, 3))Z"
    }
}

extension Int64 {
    /// The quotient rounded towards minus infinity, with a non-negative remainder.
    fileprivate func flooredQuotient(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
