public import ImageModel

/// How one attempt at a job ended: what a worker reports with `WorkerSession.complete(_:)`.
///
/// Whether a failure is retried or blocks the URL is decided in the database, by the table `retry_rule`.
public struct Outcome: Sendable {
    /// The possible results.
    public enum Result: Sendable, Equatable {
        /// The original and every variant are stored.
        case succeeded
        /// Something failed. `retryAfter` is the server's Retry-After, used up to an hour.
        case failed(FailureReason, retryAfter: Duration? = nil)
        /// The job was cancelled while it ran; recorded as SDWebImageErrorDomain 2002.
        case cancelled
    }

    /// The claim of the job.
    public let claim: Claim
    /// The result.
    public let result: Result
    /// The last HTTP status seen.
    public var httpStatus: Int?
    /// Body bytes received.
    public var bytesIn = 0
    /// Bytes written to the cache.
    public var bytesOut = 0
    /// Downloads made: 0 when the original was cached, else 1.
    public var downloads = 0
    /// Variants made.
    public var variants = 0
    /// Time between the claim and the start of the load.
    public var waiting: Duration = .zero
    /// Time in which the fetch waited for a free connection.
    public var waitingForConnection: Duration = .zero
    /// Time in which the fetch waited for DNS.
    public var waitingForNames: Duration = .zero
    /// Time in the fetch stage, without its waits.
    public var fetching: Duration = .zero
    /// Time until a transcoder was free.
    public var waitingForTranscoder: Duration = .zero
    /// Time in the transcode stage, without the wait.
    public var transcoding: Duration = .zero
    /// Time in the store stage.
    public var storing: Duration = .zero
    /// With a failure by memory or time (205, 206): the worker's limit.
    public var workerLimit: Int64?
    /// Whether the job succeeded although its URL was blocked, by a lower limit: the block ends.
    public var unblocks = false
    /// The stored files, original first, also of a failed job.
    public var stored: [StoredFile] = []

    /// An outcome without measurements.
    public init(_ claim: Claim, _ result: Result) {
        self.claim = claim
        self.result = result
    }
}
