internal import DiskCache
public import JobQueue
internal import Transcoder

/// Why a load as a whole failed: the one place where the errors of fetch, transcode and store are brought together.
///
/// Whether to try again is not decided here but by the rows of `retry_rule` in the database.
public struct LoadError: Error, Sendable {
    /// The stage that failed.
    public enum Stage: String, Sendable {
        /// Looking in the cache.
        case lookUp
        /// Downloading.
        case fetch
        /// Decoding, transforming, encoding.
        case transcode
        /// Writing into the cache.
        case store
    }

    /// Where.
    public let stage: Stage
    /// What.
    public let failure: FailureReason
    /// Status of the last response, if one came.
    public var httpStatus: Int?
    /// How long the server asked to be left alone.
    public var retryAfter: Duration?
    /// What the load had done until then.
    public var report = LoadReport()

    init(stage: Stage, domain: String, code: Int, message: String) {
        self.stage = stage
        failure = FailureReason(domain: domain, code: code, message: message)
    }

    init(_ error: FetchError) {
        self.init(stage: .fetch, domain: error.domain, code: error.domainCode, message: error.message)
        httpStatus = error.httpStatus
        retryAfter = error.retryAfter
    }

    init(_ error: TranscodeError) {
        self.init(stage: .transcode, domain: error.domain, code: error.code.rawValue, message: error.message)
    }

    init(_ error: StoreError, stage: Stage = .store) {
        self.init(stage: stage, domain: "LarderErrorDomain", code: 403, message: error.description)
    }

    /// The load was cancelled, by its task's cancellation (SDWebImage 5.21.5, SDWebImageErrorCancelled).
    static let cancelled = LoadError(
        stage: .fetch, domain: "SDWebImageErrorDomain", code: 2002, message: "cancelled")

    /// The same error with what the load had done until then.
    func carrying(_ report: LoadReport) -> LoadError {
        var copy = self
        copy.report = report
        copy.httpStatus = httpStatus ?? report.httpStatus
        return copy
    }

    /// Whether the load was cancelled.
    public var isCancellation: Bool { failure.domain == "SDWebImageErrorDomain" && failure.code == 2002 }

    /// Whether the source's bytes do not decode.
    var isUndecodable: Bool {
        stage == .transcode && failure.domain == "SDWebImageErrorDomain" && failure.code == 1001
    }
}
