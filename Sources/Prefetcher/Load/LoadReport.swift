public import ImageModel

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
    /// `X-Robots-Tag` of the last response, escaped.
    public var robotsTag: String?
    /// The source was asked, and the cached original is what it has (SDWebImage 5.21.5, SDWebImageErrorCacheNotModified).
    public var isUnchanged = false
    /// How long the stages took.
    public var timing = StageTiming()

    /// Nothing done yet.
    public init() {}

    /// Why the job failed although the original is there: a variant failed; the original and the good ones stay.
    ///
    /// A failure of the store comes before the others, as trying again may mend it. A limit that only a variant exceeds
    /// is told as 401, with the limit's own code in the file's error: the URL is good and must not be blocked for it.
    public var failure: FailureReason? {
        let errors = stored.lazy.compactMap(\.error)
        guard let error = errors.first(where: { $0.code == 403 }) ?? errors.first else { return nil }
        guard (200..<300).contains(error.code) else { return error }
        return FailureReason(domain: error.domain, code: 401, message: error.message)
    }

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
