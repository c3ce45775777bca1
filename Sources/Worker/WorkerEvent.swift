package import DiskCache
package import Downloader
package import ImageModel
package import JobQueue
package import Prefetcher

/// An event of a running worker, for logs, progress and result lines.
package enum WorkerEvent: Sendable {
    /// The worker is registered under this number.
    case started(worker: Int64)
    /// Jobs were claimed.
    case claimed(count: Int)
    /// An attempt ended and the database has answered its result.
    case completed(AttemptReport)
    /// The database is unavailable or refused a call, which the worker repeats.
    case queueUnavailable(QueueError)
    /// Claims succeed again after one that failed so.
    case queueAvailable
    /// The database refused a value in the result of this job, which fails with 502. When that is refused, too, the job
    /// runs again.
    case resultRefused(job: Int64, QueueError)
    /// The lease is lost: attempts are cancelled, and the worker registers again.
    case leaseLost
    /// The worker lacks what every job needs, and claims one job at a time; nil when it lacks nothing any more.
    case localFault(FailureReason?)
    /// The worker cannot use a credential profile that jobs of a batch name. It returns these jobs for a minute later
    /// and claims others with all its slots. Once per profile and batch, until no such job was returned for two
    /// minutes.
    case profileFault(ProfileFault)
    /// A webhook of a batch was posted; nil when it was delivered, else it is tried again.
    case webhook(batch: Int64, error: FetchError?)
    /// Expired files were deleted from the cache.
    case expired(ExpiryReport)
    /// The cache could not be expired. The worker tries again after an hour.
    case expiryFailed(StoreError)
    /// Claiming has ended while this many slots are in use.
    case stopping(running: Int)
}

/// A credential profile that this worker does not have, or of which it cannot use a file.
package struct ProfileFault: Sendable, Equatable {
    /// The name of the profile, escaped, at most 64 characters.
    package let profile: String
    /// The batch of the jobs that were returned.
    package let batch: Int64
    /// Error 501 of the first such job, which names the file if there is one.
    package let reason: FailureReason
}

/// An attempt at a job whose result the database has answered.
package struct AttemptReport: Sendable {
    /// The job.
    package let job: Job
    /// The report of the load, with the stored files.
    package let load: LoadReport
    /// Why the attempt failed, nil when it succeeded.
    package let failure: FailureReason?
    /// The database's decision: final, to be retried, or stale.
    package let decision: Decision
    /// When the job was claimed, and when its load started and ended.
    package let claimedAt, startedAt, endedAt: ContinuousClock.Instant
    /// When the database had answered the result.
    package let committedAt = ContinuousClock.now
    /// The traceparents of the items that joined the job; empty unless the worker reads them.
    package let joined: [String]
}
