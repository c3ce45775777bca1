public import ImageModel

/// The report of a batch: its progress and its first failures.
public struct BatchReport: Sendable {
    /// The counts.
    public let progress: BatchProgress
    /// The first 1,000 failures that were not discarded, ordered by job; `Reports.failures(of:after:limit:)` returns
    /// all.
    public let failures: [FailureRecord]
    /// The errors of these failures by HTTP status, most frequent first, at most 100.
    public let errors: [ErrorCount]
    /// Discarded failed items, included in `progress.failed`.
    public let discarded: Int
}

/// Items of a batch that ended with one error.
public struct ErrorCount: Sendable, Decodable {
    /// The error's domain.
    public let domain: String
    /// The error's code.
    public let code: Int
    /// The number of items.
    public let items: Int
    /// The HTTP status; nil if errors are not grouped by it.
    public let status: Int?

    init(domain: String, code: Int, items: Int, status: Int? = nil) {
        (self.domain, self.code, self.items, self.status) = (domain, code, items, status)
    }

    private enum CodingKeys: String, CodingKey {
        case domain, code, status
        case items = "n"
    }
}

/// A failed item, or a failed job with its items.
public struct FailureRecord: Sendable {
    /// The start of the next page, for `failures(of:after:)`.
    public let cursor: Int64
    /// The URL as given.
    public let url: String
    /// The error.
    public let error: FailureReason
    /// Attempts made; 0 if it never ran.
    public let attempts: Int
    /// Items of the batch that ended with it.
    public let items: Int
    /// The producer's JSON object, from the first item that has one.
    public let meta: String?
    /// The enqueue's trace id, 32 hexadecimal digits; nil if none was given.
    public let traceID: String?
}

/// A completed job of a batch, or an item that ended without a job, with the stored files.
public struct StoredRecord: Sendable {
    /// The start of the next page, for `records(of:after:)`.
    public let cursor: Int64
    /// The job's id; nil for an item that ended without one.
    public let job: Int64?
    /// The URL as given.
    public let url: String
    /// The outcome.
    public let outcome: JobOutcome
    /// The error; nil if it succeeded.
    public let error: FailureReason?
    /// Attempts made; 0 if it never ran.
    public let attempts: Int
    /// Items of the batch that ended with it.
    public let items: Int
    /// The stored files, original first.
    public let stored: [StoredFile]
    /// The producer's JSON object, from the first item that has one.
    public let meta: String?
    /// The pipeline version of the job.
    public let pipeline: Int?
    /// The last HTTP error status; nil without one and for an item that ended without a job.
    public let httpStatus: Int?
}
