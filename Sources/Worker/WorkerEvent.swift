public import ImageModel
public import JobQueue
public import Prefetcher

/// What a worker tells whoever watches it: for logs, progress and result lines.
public enum WorkerEvent: Sendable {
    /// The worker is registered under this number.
    case started(worker: Int64)
    /// Jobs were claimed.
    case claimed(count: Int)
    /// An attempt ended and was committed.
    case completed(AttemptReport)
    /// The database could not be reached or refused; the worker goes on trying.
    case queueUnavailable(QueueError)
    /// The lease ran out: what ran is dropped, the worker registers anew.
    case leaseLost
    /// Claiming has ended; so many jobs still run.
    case stopping(running: Int)
}

/// One attempt at one job, after it was committed.
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
