public import ImageModel

/// The state of a job. Each live job has exactly one; docs/guarantees.md says who makes each transition.
public enum JobState: String, Sendable {
    /// May be claimed.
    /// - → running: claim
    /// - → scheduled: claim, while the origin is held
    /// - → suspended: claim, when only paused or cancelled batches want it
    /// - → completed: cancel
    case ready
    /// Becomes ready at a time: enqueued for later, between two attempts, or its origin is held.
    /// - → ready: maintenance at its time, retry
    /// - → completed: cancel
    case scheduled
    /// A worker holds it, under the number of a claim.
    /// - → completed: complete
    /// - → scheduled: complete of a failure that is retried, snooze
    /// - → ready: release, rescue, complete as cancelled of a job that was joined since
    /// - → suspended: release or rescue of a job that was cancelled while it ran, or rescue after too many workers
    case running
    /// Not to be claimed, for a `SuspensionReason`.
    /// - → ready: resume or a join (paused, cancelled), retry (crashed)
    /// - → completed: cancel, maintenance (cancelled)
    case suspended
    /// Has a record with a `JobOutcome`, and no live row. Final: a retry makes a new job.
    case completed
}

/// Why a job is suspended.
public enum SuspensionReason: String, Sendable {
    /// Each batch that has it is paused.
    case paused
    /// No batch has it, or it was cancelled while it ran and was released or rescued. Maintenance completes it.
    case cancelled
    /// It was lost with five workers; an operator retries or cancels it.
    case crashed
}

/// How a job completed.
public enum JobOutcome: String, Sendable {
    case succeeded, failed, cancelled
}

/// The answer to a request to cancel a job.
public enum JobCancellation: String, Sendable {
    /// It was not running: it is completed, and its items are finished.
    case cancelled
    /// It is running: the next heartbeat informs its worker, and its items finish when it completes.
    case requested
    /// It had completed before.
    case completed
}

/// The status of a job. Times are ISO 8601 in UTC, by the clock of the database.
public struct JobStatus: Sendable {
    /// The id of the job.
    public let id: Int64
    /// The state.
    public let state: JobState
    /// Why it is suspended.
    public let reason: SuspensionReason?
    /// How it completed.
    public let outcome: JobOutcome?
    /// The URL as given.
    public let url: String
    /// The batch that enqueued it first.
    public let batch: Int64
    /// The name of that batch.
    public let batchName: String?
    /// The name of its pipeline.
    public let pipeline: String
    /// The version of its pipeline, from 1.
    public let pipelineVersion: Int
    /// 0 (first) to 9 (last).
    public let priority: Int
    /// Items of its batch that wait for it.
    public let items: Int
    /// The running attempt, else the number of attempts used.
    public let attempt: Int
    /// The most attempts; nil once it is completed.
    public let maxAttempts: Int?
    /// How many workers were lost while they held it.
    public let rescues: Int
    /// The worker that holds it, or held it last.
    public let worker: Int64?
    /// The name of that worker; nil a day after its last heartbeat.
    public let workerName: String?
    /// The later job that took over its items.
    public let retriedAs: Int64?
    /// The error of its last attempt.
    public let error: FailureReason?
    /// The trace of the enqueue, 32 hexadecimal digits; nil when it named none.
    public let traceID: String?
    /// When it becomes ready, while it is scheduled.
    public let due: String?
    /// When it was enqueued.
    public let createdAt: String
    /// When it was claimed.
    public let claimedAt: String?
    /// When it completed.
    public let finishedAt: String?
    /// When it was cancelled, while it is still running.
    public let cancelledAt: String?
}

/// An attempt at a job that ended. Times are ISO 8601 in UTC, by the clock of the database.
package struct JobAttempt: Sendable {
    /// The number of the attempt, from 1.
    package let number: Int
    /// `retried`, `succeeded`, `failed` or `cancelled`.
    package let outcome: String
    /// The worker that made it.
    package let worker: Int64?
    /// Why it did not succeed.
    package let error: FailureReason?
    /// The last HTTP status received.
    package let httpStatus: Int?
    /// Time spent on the download.
    package let fetch: Duration?
    /// Time spent on decoding and encoding.
    package let transcode: Duration?
    /// Time spent on storing.
    package let store: Duration?
    /// Time until the next attempt.
    package let delay: Duration?
    /// When it was claimed.
    package let claimedAt: String?
    /// When it ended.
    package let endedAt: String
}
