public import ImageModel

/// The report of a batch: its progress and its first failures.
public struct BatchReport: Sendable {
    /// The counts.
    public let progress: BatchProgress
    /// The first 1,000 failures that were not discarded, in order of jobs; `Reports.failures(of:after:limit:)` has
    /// all.
    public let failures: [FailureRecord]
    /// The errors of these failures by HTTP status, most frequent first, at most 100.
    public let errors: [ErrorCount]
    /// How many failed items were discarded. They are part of `progress.failed`.
    public let discarded: Int
}

/// How many items of a batch ended with one error.
public struct ErrorCount: Sendable, Decodable {
    /// The error's domain.
    public let domain: String
    /// The error's code.
    public let code: Int
    /// The number of items.
    public let items: Int
    /// The HTTP status of these responses; nil where errors are not counted by it.
    public let status: Int?

    init(domain: String, code: Int, items: Int, status: Int? = nil) {
        (self.domain, self.code, self.items, self.status) = (domain, code, items, status)
    }

    private enum CodingKeys: String, CodingKey {
        case domain, code, status
        case items = "n"
    }
}

/// An item, or a job with its items, that failed.
public struct FailureRecord: Sendable {
    /// The start of the next page, for `failures(of:after:)`.
    public let cursor: Int64
    /// The URL as given.
    public let url: String
    /// The error.
    public let error: FailureReason
    /// Attempts made; 0 for an item that never ran.
    public let attempts: Int
    /// Items of the batch that ended with it.
    public let items: Int
    /// The producer's JSON object, of the first of them that has one.
    public let meta: String?
    /// The trace of the enqueue, 32 hexadecimal digits; nil when it named none.
    public let traceID: String?
}

/// A completed job of a batch, or an item that ended without one, with the files it stored.
public struct StoredRecord: Sendable {
    /// The start of the next page, for `records(of:after:)`.
    public let cursor: Int64
    /// The id of the job; nil for an item that ended without one.
    public let job: Int64?
    /// The URL as given.
    public let url: String
    /// How it ended.
    public let outcome: JobOutcome
    /// The error when it did not succeed.
    public let error: FailureReason?
    /// Attempts made; 0 for an item that never ran.
    public let attempts: Int
    /// Items of the batch that ended with it.
    public let items: Int
    /// The files, original first.
    public let stored: [StoredFile]
    /// The producer's JSON object, of the first of these items that has one.
    public let meta: String?
    /// The pipeline version of the job.
    public let pipeline: Int?
    /// The HTTP status of the last response, where one was an error; nil for an item that ended without a job.
    public let httpStatus: Int?
}
