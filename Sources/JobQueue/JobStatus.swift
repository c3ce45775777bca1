public import ImageModel

/// The state of a job; each live job has exactly one. docs/guarantees.md lists the transitions.
public enum JobState: String, Sendable {
    /// May be claimed.
    /// - → running: claim
    /// - → scheduled: claim while the origin is paused
    /// - → suspended: claim if all its batches are paused or cancelled
    /// - → completed: cancel
    case ready
    /// Becomes ready at a given time: enqueued for later, between two attempts, or its origin is paused.
    /// - → ready: maintenance at that time, retry
    /// - → completed: cancel
    case scheduled
    /// Held by a worker under a claim number.
    /// - → completed: complete
    /// - → scheduled: complete with a failure that is retried, snooze
    /// - → ready: release, rescue, complete as cancelled if another item has joined since
    /// - → suspended: release or rescue after it was cancelled while running, or rescue after too many workers
    case running
    /// Not claimed, for a `SuspensionReason`.
    /// - → ready: resume or a join (paused, cancelled), retry (crashed)
    /// - → completed: cancel, maintenance (cancelled)
    case suspended
    /// Has a record with a `JobOutcome` and no live row. Final: a retry makes a new job.
    case completed
}

/// Why a job is suspended.
public enum SuspensionReason: String, Sendable {
    /// All its batches are paused.
    case paused
    /// No batch needs it, or it was released or rescued after it was cancelled while running. Maintenance completes it.
    case cancelled
    /// Lost with five workers. An operator retries or cancels it.
    case crashed
}

/// How a job completed.
public enum JobOutcome: String, Sendable {
    case succeeded, failed, cancelled
}

/// The result of cancelling a job.
public enum JobCancellation: String, Sendable {
    /// It was not running: it is completed and its items are finished.
    case cancelled
    /// It is running: the next heartbeat informs its worker, and its items finish when it completes.
    case requested
    /// It had already completed.
    case completed
}

/// The status of a job. Times are ISO 8601 in UTC, by the clock of the database.
public struct JobStatus: Sendable {
    /// The id of the job.
    public let id: Int64
    /// The state.
    public let state: JobState
    /// Why it is suspended; nil otherwise.
    public let reason: SuspensionReason?
    /// The outcome; nil until it is completed.
    public let outcome: JobOutcome?
    /// The URL as given.
    public let url: String
    /// The batch that enqueued it first.
    public let batch: Int64
    /// The name of that batch.
    public let batchName: String?
    /// The name of its pipeline.
    public let pipeline: String
    /// The pipeline's version, from 1.
    public let pipelineVersion: Int
    /// 0 (first) to 9 (last).
    public let priority: Int
    /// Items of its batch that wait for it.
    public let items: Int
    /// The running attempt, or the number of attempts made.
    public let attempt: Int
    /// The maximum number of attempts; nil once completed.
    public let maxAttempts: Int?
    /// Workers lost while they held it.
    public let rescues: Int
    /// The worker that holds it or held it last.
    public let worker: Int64?
    /// That worker's name; nil a day after its last heartbeat.
    public let workerName: String?
    /// The later job that took over its items.
    public let retriedAs: Int64?
    /// The error of its last attempt.
    public let error: FailureReason?
    /// The enqueue's trace id, 32 hexadecimal digits; nil if none was given.
    public let traceID: String?
    /// When it becomes ready; nil unless scheduled.
    public let due: String?
    /// When it was enqueued.
    public let createdAt: String
    /// When it was claimed.
    public let claimedAt: String?
    /// When it completed.
    public let finishedAt: String?
    /// When it was cancelled while running.
    public let cancelledAt: String?
}

/// An ended attempt. Times are ISO 8601 in UTC, by the database's clock.
package struct JobAttempt: Sendable {
    /// From 1.
    package let number: Int
    /// `retried`, `succeeded`, `failed` or `cancelled`.
    package let outcome: String
    package let worker: Int64?
    package let error: FailureReason?
    package let httpStatus: Int?
    package let fetch: Duration?
    package let transcode: Duration?
    package let store: Duration?
    /// Time until the next attempt.
    package let delay: Duration?
    package let claimedAt: String?
    package let endedAt: String
}
