public import ImageModel

/// Up to 10,000 URLs to enqueue with the same settings.
public struct EnqueueRequest: Sendable {
    /// When jobs may start, by the database's clock.
    public enum Start: Sendable, Equatable {
        /// Immediately.
        case now
        /// After this time.
        case after(Duration)
        /// At this time, in seconds since 1970.
        case at(secondsSince1970: Double)
    }

    /// How to handle a URL whose job is running at the time of the call.
    public enum OnRunning: String, Sendable {
        /// The item ends with the running job.
        case join
        /// The URL is loaded again after the running job, with this call's options.
        case again
    }

    /// The limit of URLs per call.
    public static let maxURLs = 10_000

    /// The URLs. Non-UTF-8 bytes become U+FFFD, and such a URL is answered `invalid`.
    public var urls: [String]
    /// The batch's name, opened if missing; nil is the queue's default batch of the day.
    public var batch: String?
    /// The batch's id, used instead of `batch` when set.
    public var batchID: Int64?
    /// The pipeline's newest version; nil is the batch's pipeline, else `original`.
    public var pipeline: String?
    /// 0 first … 9 last; nil is the batch's priority, else 4.
    public var priority: Int?
    /// When the jobs may start; `.now` by default.
    public var start: Start = .now
    /// SDWebImage's option bits; 0 by default. Bit 0 (RetryFailed) passes the blocklist.
    public var options: UInt64 = 0
    /// SDWebImage's context as JSON text; nil by default.
    public var context: String?
    /// The limit of attempts, 1…100; nil is 4 (three retries).
    public var maxAttempts: Int?
    /// The base of the back-off; nil is 1 s.
    public var retryBase: Duration?
    /// The queue; `default` by default.
    public var queue = "default"
    /// Answers `fresh` if the URL was stored within this time in the cache `cacheID` with this pipeline, context and
    /// options; nil, the default, never does.
    public var freshFor: Duration?
    /// The cache for `freshFor`, by the random id in its root; nil is the only cache that workers fill.
    public var cacheID: String?
    /// Items not started by this time, in seconds since 1970, finish as cancelled; nil is no limit.
    public var notAfter: Double?
    /// Items not started within this time after the call, or after a schedule's run, finish as cancelled; nil is no
    /// limit. Ignored if `notAfter` is set.
    public var validFor: Duration?
    /// How to handle a URL whose job is running; `.join` by default.
    public var onRunning = OnRunning.join
    /// The parent span in W3C Trace Context format, `00-TRACE-SPAN-FLAGS`; nil for none.
    public var traceparent: String?
    /// Per URL a JSON object of at most 4,096 bytes, or nil, repeated in records and reports; empty for none.
    public var metas: [String?] = []
    /// Per URL the differences from this request; empty for none. Each distinct value costs a database call.
    public var settings: [Settings] = []
    /// Returns the same answers but changes nothing, not even adding a batch or `spec`.
    public var isDryRun = false
    /// The definition of `pipeline` in a dry run or schedule, if it may not be in the database yet.
    public var spec: String?
    /// The list that contains the URLs, if it is enqueued in several repeatable calls, and the number of its URLs
    /// before this call.
    public var source: (name: String, from: Int)?

    /// Settings of one URL; nil and `.now` mean the request's value.
    public struct Settings: Sendable, Equatable {
        /// The pipeline's newest version.
        public var pipeline: String?
        /// 0 first … 9 last.
        public var priority: Int?
        /// When the job may start.
        public var start: Start = .now

        /// No own settings.
        public init() {}
    }

    /// A request with default settings.
    public init(urls: [String], batch: String? = nil) {
        self.urls = urls
        self.batch = batch
    }
}

/// The answer to one URL of an `EnqueueRequest`.
public struct EnqueueAnswer: Sendable {
    /// The possible answers.
    public enum Kind: String, Sendable {
        /// A new job.
        case inserted
        /// Joined to a live job with the same URL and pipeline, or a duplicate in the same call.
        case joined
        /// Stored within `freshFor`.
        case fresh
        /// On the blocklist: a failed item, SDWebImageErrorDomain 1003.
        case blocked
        /// Not a URL that Larder can fetch: a failed item.
        case invalid
    }

    /// The answer.
    public let kind: Kind
    /// The job, for `inserted` and `joined`.
    public let job: Int64?
    /// The error, for `blocked` and `invalid`.
    public let error: FailureReason?

    package init(kind: Kind, job: Int64?, error: FailureReason?) {
        self.kind = kind
        self.job = job
        self.error = error
    }
}
