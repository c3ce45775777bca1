package import DiskCache
package import Downloader
package import ImageModel
package import JobQueue
package import Prefetcher

/// An event of a running worker, for logs, progress and result lines.
package enum WorkerEvent: Sendable {
    /// The worker registered under this number.
    case started(worker: Int64)
    case claimed(count: Int)
    /// An attempt ended and the database answered its result.
    case completed(AttemptReport)
    /// The database is unavailable or refused a call; the worker repeats it.
    case queueUnavailable(QueueError)
    /// Claims succeed again after `queueUnavailable`.
    case queueAvailable
    /// The database refused a value in this job's result. The job fails with 502; if that is refused too, it runs
    /// again.
    case resultRefused(job: Int64, QueueError)
    /// The lease is lost: attempts are cancelled and the worker registers again.
    case leaseLost
    /// The worker lacks something that every job needs, and claims one job at a time; nil when the fault is over.
    case localFault(FailureReason?)
    /// The worker cannot use a batch's credential profile. It returns the jobs for one minute and claims others with
    /// all slots. Sent once per profile and batch, until no job was returned for two minutes.
    case profileFault(ProfileFault)
    /// A webhook was posted; `error` is nil if it was delivered, otherwise it is retried.
    case webhook(batch: Int64, error: FetchError?)
    case expired(ExpiryReport)
    /// The cache could not be expired. The worker retries after an hour.
    case expiryFailed(StoreError)
    /// Claiming has ended; `running` slots are in use.
    case stopping(running: Int)
}

/// A credential profile that this worker lacks, or whose file it cannot use.
package struct ProfileFault: Sendable, Equatable {
    /// The name of the profile, escaped, at most 64 characters.
    package let profile: String
    /// The batch of the returned jobs.
    package let batch: Int64
    /// Error 501 of the first returned job; names the file if there is one.
    package let reason: FailureReason
}

/// An attempt whose result the database has answered.
package struct AttemptReport: Sendable {
    package let job: Job
    /// The load, with the stored files.
    package let load: LoadReport
    /// Nil if the attempt succeeded.
    package let failure: FailureReason?
    /// The database's decision: final, to be retried, or stale.
    package let decision: Decision
    package let claimedAt, startedAt, endedAt: ContinuousClock.Instant
    /// When the database answered the result.
    package let committedAt = ContinuousClock.now
    /// Traceparents of the items that joined the job; empty unless the worker reads them.
    package let joined: [String]
}
