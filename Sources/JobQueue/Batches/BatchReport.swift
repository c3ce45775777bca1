public import ImageModel

/// The report of a batch: its progress and its first failures.
public struct BatchReport: Sendable {
    /// The counts.
    public let progress: BatchProgress
    /// The first 1,000 failures, in order of jobs; `PostgresJobQueue.failures(of:after:)` has all.
    public let failures: [FailureRecord]
    /// How often each error occurred, most frequent first, at most 100.
    public let errors: [ErrorCount]
}

/// How many items of a batch ended with one error.
public struct ErrorCount: Sendable, Decodable {
    /// The error's domain.
    public let domain: String
    /// The error's code.
    public let code: Int
    /// Items.
    public let items: Int

    private enum CodingKeys: String, CodingKey {
        case domain, code
        case items = "n"
    }
}

/// One item, or job with its items, that ended with an error.
public struct FailureRecord: Sendable {
    /// Where the next page begins: pass it to `failures(of:after:)`.
    public let cursor: Cursor
    /// The URL as given.
    public let url: String
    /// The error.
    public let error: FailureReason
    /// Attempts made; 0 for what never ran.
    public let attempts: Int
    /// Items of the batch that this ended.
    public let items: Int
}

/// One job of a batch that ended, with what it stored.
public struct StoredRecord: Sendable {
    /// How it ended.
    public enum End: String, Sendable {
        /// All is stored.
        case succeeded
        /// Something failed; what could be had is stored.
        case failed
        /// Cancelled.
        case cancelled
    }

    /// Where the next page begins: pass it to `records(of:after:)`.
    public let cursor: Cursor
    /// The job; nil for an item that ended without one.
    public let job: Int64?
    /// The URL as given.
    public let url: String
    /// How it ended.
    public let end: End
    /// The error when it did not succeed.
    public let error: FailureReason?
    /// Attempts made; 0 for what never ran.
    public let attempts: Int
    /// Items of the batch that this ended.
    public let items: Int
    /// The files, original first.
    public let stored: [StoredFile]
}

/// A position in a batch's records, which come in the order of ending without a job, then by job.
public struct Cursor: Sendable, Equatable {
    let value: Int64
    /// Before the first record.
    public static let start = Cursor(value: .min)
}
