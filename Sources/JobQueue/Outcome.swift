public import ImageModel

/// The result of one attempt, for `WorkerSession.complete(_:)`.
///
/// The table `retry_rule` in the database decides whether a failure is retried or blocks the URL.
public struct Outcome: Sendable {
    /// The possible results.
    public enum Result: Sendable, Equatable {
        /// The original and every variant are stored.
        case succeeded
        /// Something failed. `retryAfter` is the server's Retry-After, capped at one hour.
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
    /// Downloads made: 0 if the original was cached, else 1.
    public var downloads = 0
    /// Variants made.
    public var variants = 0
    /// Time between the claim and the start of the load.
    public var waiting: Duration = .zero
    /// Time the fetch waited for a free connection.
    public var waitingForConnection: Duration = .zero
    /// Time the fetch waited for DNS.
    public var waitingForNames: Duration = .zero
    /// Time in the fetch stage, without these waits.
    public var fetching: Duration = .zero
    /// Time waited for a free transcoder.
    public var waitingForTranscoder: Duration = .zero
    /// Time in the transcode stage, without this wait.
    public var transcoding: Duration = .zero
    /// Time in the store stage.
    public var storing: Duration = .zero
    /// The worker's limit, for a failure by memory or time (205, 206).
    public var workerLimit: Int64?
    /// Whether the job succeeded although its URL was blocked by a lower limit. Ends the block.
    public var unblocks = false
    /// The stored files, original first, also if the job failed.
    public var stored: [StoredFile] = []

    /// An outcome without measurements.
    public init(_ claim: Claim, _ result: Result) {
        self.claim = claim
        self.result = result
    }
}
