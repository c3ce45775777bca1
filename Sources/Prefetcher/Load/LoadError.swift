internal import DiskCache
internal import Downloader
public import ImageModel
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

    package init(stage: Stage, domain: String, code: Int, message: String) {
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

    /// There is no URL (SDWebImage 5.21.5, SDWebImageErrorInvalidURL).
    static let noURL = LoadError(
        stage: .lookUp, domain: "SDWebImageErrorDomain", code: 1000, message: "there is no URL to load")

    /// The URL is on the blocklist (SDWebImage 5.21.5, SDWebImageErrorBlackListed).
    static func blocked(_ url: String) -> LoadError {
        LoadError(stage: .lookUp, domain: "SDWebImageErrorDomain", code: 1003, message: "\(shown(url)): is blocked")
    }

    /// The request modifier gave no request (SDWebImage 5.21.5, SDWebImageErrorInvalidDownloadOperation).
    static func invalidOperation(_ url: String) -> LoadError {
        LoadError(
            stage: .fetch, domain: "SDWebImageErrorDomain", code: 2000,
            message: "\(shown(url)): the request modifier gave no request")
    }

    /// What came is no picture (SDWebImage 5.21.5, SDWebImageErrorBadImageData).
    static func badImage(_ url: String, _ why: String) -> LoadError {
        LoadError(stage: .fetch, domain: "SDWebImageErrorDomain", code: 1001, message: "\(shown(url)): \(why)")
    }

    /// The source says that nothing changed, though nobody has anything (SDWebImage 5.21.5, SDWebImageErrorCacheNotModified).
    static func unexpectedlyUnmodified(_ url: String) -> LoadError {
        LoadError(
            stage: .fetch, domain: "SDWebImageErrorDomain", code: 1002,
            message: "\(shown(url)): not modified, and no copy is known")
    }

    /// The URL without userinfo and query; what is no URL is not repeated.
    private static func shown(_ url: String) -> String { (try? SourceURL(url))?.description ?? "the URL" }

    /// The same error with what the load had done until then.
    func carrying(_ report: LoadReport) -> LoadError {
        var copy = self
        copy.report = report
        copy.httpStatus = httpStatus ?? report.httpStatus
        return copy
    }

    /// Whether the load was cancelled.
    public var isCancellation: Bool { failure.domain == "SDWebImageErrorDomain" && failure.code == 2002 }

    /// How long the job's origin, or one that it was led to, is to be left alone; nil for every other error.
    package var heldFor: Duration? {
        failure.domain == "LarderErrorDomain" && failure.code == 106 ? retryAfter ?? .zero : nil
    }

    /// Whether the source's bytes do not decode.
    var isUndecodable: Bool {
        stage == .transcode && failure.domain == "SDWebImageErrorDomain" && failure.code == 1001
    }
}
