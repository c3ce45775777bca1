public import ImageModel

/// How one attempt at a job ended: what a worker reports with `WorkerSession.complete(_:)`.
///
/// Whether a failure is tried again, or blocks the URL, is not the worker's to say: the rows of `retry_rule` decide.
public struct Outcome: Sendable {
    /// The three ends.
    public enum Result: Sendable, Equatable {
        /// The original and every variant are stored.
        case succeeded
        /// Something failed. `retryAfter` is what the server asked for, honoured up to an hour.
        case failed(FailureReason, retryAfter: Duration? = nil)
        /// The job was cancelled while it ran; recorded as SDWebImageErrorDomain 2002.
        case cancelled
    }

    /// The claim that was worked on.
    public let claim: Claim
    /// How it ended.
    public let result: Result
    /// The last HTTP status seen.
    public var httpStatus: Int?
    /// Body bytes received.
    public var bytesIn = 0
    /// Bytes written to the cache.
    public var bytesOut = 0
    /// Downloads that were needed: 0 when the cache had the original, else 1.
    public var downloads = 0
    /// Variants made.
    public var variants = 0
    /// Time between the claim and the start of the fetch.
    public var waiting: Duration = .zero
    /// Time in the fetch stage.
    public var fetching: Duration = .zero
    /// Time in the transcode stage.
    public var transcoding: Duration = .zero
    /// Time in the store stage.
    public var storing: Duration = .zero
    /// The files, original first; also those of a failed job that were stored.
    public var stored: [StoredFile] = []

    /// An outcome whose measures are still zero.
    public init(_ claim: Claim, _ result: Result) {
        self.claim = claim
        self.result = result
    }
}
