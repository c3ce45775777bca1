public import ImageModel

/// Up to 10,000 URLs to enqueue with one set of wishes.
public struct EnqueueRequest: Sendable {
    /// When jobs may start, by the database's clock.
    public enum Start: Sendable {
        /// At once.
        case now
        /// After this time.
        case after(Duration)
        /// At this time, in seconds since 1970.
        case at(secondsSince1970: Double)
    }

    /// The most URLs that one call takes.
    public static let mostURLs = 10_000

    /// The URLs, as bytes. What is not UTF-8 cannot be a job: pass it repaired (U+FFFD) and it is answered `invalid`.
    public var urls: [String]
    /// The batch, by name: opened when missing. Nil is the default batch of the queue and day.
    public var batch: String?
    /// The batch by number, which wins over `batch`.
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
    /// Attempts in all, 1…100; nil is 4 (three retries).
    public var maxAttempts: Int?
    /// The base of the back-off instead of 1 s.
    public var retryBase: Duration?
    /// The queue; `default` by default.
    public var queue = "default"
    /// A URL stored so lately with this pipeline, context and options, in the cache `cacheID`, is answered `fresh`; nil, the
    /// default, asks not.
    public var freshFor: Duration?
    /// The cache that `freshFor` asks about, by the random id in its root; nil is the only one that workers fill.
    public var cacheID: String?
    /// The list that the URLs are from, when it is streamed in several calls that must not be counted twice.
    public var source: Source?

    /// A list, and how many of its URLs earlier calls have put in.
    public struct Source: Sendable {
        /// What the list is called.
        public var name: String
        /// Where this call begins.
        public var from: Int

        /// Names a list and a place in it.
        public init(name: String, from: Int) {
            self.name = name
            self.from = from
        }
    }

    /// A request with default wishes.
    public init(urls: [String], batch: String? = nil) {
        self.urls = urls
        self.batch = batch
    }
}

/// What became of one URL of an `EnqueueRequest`.
public struct EnqueueAnswer: Sendable {
    /// The five answers.
    public enum Kind: String, Sendable {
        /// A new job.
        case inserted
        /// A live job for the same URL and pipeline takes this item along, duplicates in one call included.
        case joined
        /// Already stored within the time asked for.
        case fresh
        /// On the blocklist: a failed item, SDWebImageErrorDomain 1003.
        case blocked
        /// No URL Larder can fetch: a failed item.
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
