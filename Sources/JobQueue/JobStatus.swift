public import ImageModel

/// What became of a wish to cancel one job.
public enum JobCancellation: String, Sendable {
    /// It did not run: it ended, and so did its items.
    case cancelled
    /// It runs: its worker hears with the next heartbeat, and its items end when it completes.
    case told
    /// It had ended before; nothing was done.
    case over
}

/// Where one job stands. Times are ISO 8601 in UTC, by the database's clock.
public struct JobStatus: Sendable {
    /// The job's number.
    public let id: Int64
    /// `ready`, `scheduled`, `running`, `suspended (why)`, `succeeded`, `failed` or `cancelled`.
    public let state: String
    /// The URL as given.
    public let url: String
    /// The batch it was first enqueued for.
    public let batch: Int64
    /// That batch's name, when it has one.
    public let batchName: String?
    /// Its pipeline's name.
    public let pipeline: String
    /// Its pipeline's version, from 1.
    public let pipelineVersion: Int
    /// 0 first … 9 last.
    public let priority: Int
    /// How many items of its batch ride on it.
    public let items: Int
    /// The attempt that runs, else how many were used up.
    public let attempt: Int
    /// Attempts in all; nil once it is over.
    public let maxAttempts: Int?
    /// How often it was lost with its worker.
    public let rescues: Int
    /// The worker that runs it, or ran it last.
    public let worker: Int64?
    /// That worker's name, while it is remembered.
    public let workerName: String?
    /// The later job that took its items along.
    public let retriedAs: Int64?
    /// The error of its last attempt.
    public let error: FailureReason?
    /// When it is due, while it is scheduled.
    public let due: String?
    /// When it was enqueued.
    public let createdAt: String
    /// When it was claimed.
    public let claimedAt: String?
    /// When it ended.
    public let finishedAt: String?
    /// When somebody cancelled it, while it still runs.
    public let cancelledAt: String?
}

/// One attempt at a job that ended. Times are ISO 8601 in UTC, by the database's clock.
public struct JobAttempt: Sendable {
    /// Which one, from 1.
    public let number: Int
    /// `retried`, `succeeded`, `failed` or `cancelled`.
    public let outcome: String
    /// The worker that made it.
    public let worker: Int64?
    /// Why it did not succeed.
    public let error: FailureReason?
    /// The last HTTP status seen.
    public let httpStatus: Int?
    /// Time spent downloading.
    public let fetch: Duration?
    /// Time spent decoding and encoding.
    public let transcode: Duration?
    /// Time spent storing.
    public let store: Duration?
    /// How long the job was put off after it.
    public let delay: Duration?
    /// When it was claimed.
    public let claimedAt: String?
    /// When it ended.
    public let endedAt: String
}
