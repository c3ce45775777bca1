/// One URL with one pipeline, as returned by `WorkerSession.claim(upTo:)`.
public struct Job: Sendable, Identifiable {
    /// The job's number, also its position within its priority.
    public let id: Int64
    /// The claim under which this worker holds the job; outcomes must name it.
    public let claim: Int64
    /// The number of this attempt, from 1.
    public let attempt: Int
    /// The maximum number of attempts.
    public let maxAttempts: Int
    /// The URL, byte for byte as given. Compare with `utf8.elementsEqual`, never with `==`.
    public let url: String
    /// The id of the pipeline version; `PostgresJobQueue.pipeline(id:)` returns its text, which never changes.
    public let pipeline: Int
    /// SDWebImage's option bits (5.21.5, `SDWebImageOptions`).
    public let options: UInt64
    /// SDWebImage's context as JSON text; nil for none.
    public let context: String?
    /// 0 first … 9 last.
    public let priority: Int
    /// Scheme, host and port in normal form, `https://example.com:443`.
    public let origin: String
    /// The batch that the job was first enqueued for.
    public let batch: Int64
    /// Whether the URL is blocked and the options lack RetryFailed: the job must fail with `SDWebImageErrorDomain`
    /// 1003, whatever is cached.
    public let isBlocked: Bool
    /// The producer's span in W3C Trace Context format; nil if none was given.
    public let traceparent: String?
    /// Time from enqueue to claim, by the database's clock.
    package let queued: Duration

    /// The limit because of which a worker blocked the URL; nil for other blocks. A worker with a higher limit runs the
    /// job.
    package let blockedBy: ExceededLimit?

    package init(
        id: Int64, claim: Int64, attempt: Int = 1, maxAttempts: Int = 4, url: String, pipeline: Int = 1,
        options: UInt64 = 0, context: String? = nil, priority: Int = 4, origin: String = "", batch: Int64 = 0,
        isBlocked: Bool = false, blockedBy: ExceededLimit? = nil, traceparent: String? = nil,
        queued: Duration = .zero
    ) {
        self.id = id
        self.claim = claim
        self.attempt = attempt
        self.maxAttempts = maxAttempts
        self.url = url
        self.pipeline = pipeline
        self.options = options
        self.context = context
        self.priority = priority
        self.origin = origin
        self.batch = batch
        self.isBlocked = isBlocked
        self.blockedBy = blockedBy
        self.traceparent = traceparent
        self.queued = queued
    }
}

/// A worker's limit that an image exceeded.
package struct ExceededLimit: Sendable, Hashable {
    /// 205 or 206 of Larder's domain.
    package let code: Int
    /// Bytes of memory, or milliseconds of processor time.
    package let value: Int64
}

/// A claim on a job, for example for `release`.
public struct Claim: Sendable, Hashable {
    /// The job.
    public let job: Int64
    /// The claim's number within its worker.
    public let number: Int64

    /// Creates the name of a claim.
    public init(job: Int64, number: Int64) {
        self.job = job
        self.number = number
    }
}

extension Job {
    /// The claim under which this worker holds the job.
    public var held: Claim { Claim(job: id, number: claim) }
}
