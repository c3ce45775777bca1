public import ImageModel
public import JobQueue
public import Prefetcher

/// What a worker reports while it runs, for logs, progress and result lines.
public enum WorkerEvent: Sendable {
    /// The worker is registered under this number.
    case started(worker: Int64)
    /// Jobs were claimed.
    case claimed(count: Int)
    /// An attempt ended and its result is committed.
    case completed(AttemptReport)
    /// The database is unavailable or refused a call; the worker tries again.
    case queueUnavailable(QueueError)
    /// The lease is lost: attempts are cancelled, and the worker registers again.
    case leaseLost
    /// Claiming has ended while this many slots are in use.
    case stopping(running: Int)
}

/// A committed attempt at a job.
public struct AttemptReport: Sendable {
    /// The job.
    public let job: Job
    /// What the load did and what is in the cache now.
    public let load: LoadReport
    /// Why the attempt failed, nil when it succeeded.
    public let failure: FailureReason?
    /// What the database decided: final, to be retried, or stale.
    public let decision: CompletionResult.Decision
}
