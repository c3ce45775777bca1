public import JobQueue

/// What a load did: what lies in the cache now, what it cost, and what failed on the way.
public struct LoadReport: Sendable {
    /// What lies in the cache: the original first, then the variants in the pipeline's order, failed ones included.
    public var stored: [StoredFile] = []
    /// Bodies downloaded, 0 or 1.
    public var downloads = 0
    /// Bytes downloaded.
    public var bytesIn = 0
    /// Status of the last response, nil without a download.
    public var httpStatus: Int?
    /// How long the stages took.
    public var timing = StageTiming()

    /// Nothing done yet.
    public init() {}

    /// The first variant's failure: the original and the good variants stay, and the job is failed.
    public var failure: FailureReason? { stored.lazy.compactMap(\.error).first }

    /// Variants this load wrote.
    public var made: Int { stored.count { $0.name != nil && $0.isNew } }

    /// Bytes of files this load wrote.
    public var bytesOut: Int { stored.reduce(0) { $0 + ($1.isNew ? $1.bytes ?? 0 : 0) } }
}

/// How long a job's stages took; zero for a stage that was not needed.
public struct StageTiming: Sendable, Equatable {
    /// Downloading, redirects and name look-ups included.
    public var fetch = Duration.zero
    /// Decoding, transforming, encoding, waiting for a transcoder included.
    public var transcode = Duration.zero
    /// Giving the files their names.
    public var store = Duration.zero

    /// Nothing measured yet.
    public init() {}
}
