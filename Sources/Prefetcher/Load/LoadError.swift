internal import DiskCache
package import Downloader
public import ImageModel
internal import Transcoder

/// Why a load failed as a whole, converted from the errors of all stages.
///
/// The rules of `retry_rule` in the database decide whether it is retried.
public struct LoadError: Error, Sendable {
    /// The stage that failed.
    public enum Stage: String, Sendable {
        /// Options, blocklist, cache query.
        case lookUp
        case fetch
        /// Decoding, transforming, encoding.
        case transcode
        /// Writing into the cache.
        case store
    }

    /// Where the load failed.
    public let stage: Stage
    /// The error's domain, code and message.
    public let failure: FailureReason
    /// Status of the last response; nil without one.
    public var httpStatus: Int?
    /// The server's `Retry-After`.
    public var retryAfter: Duration?
    /// The load's work before it failed.
    public var report = LoadReport()

    package init(_ stage: Stage, _ code: FailureCode, _ message: String, profile: String? = nil) {
        self.stage = stage
        var failure = FailureReason(code, message)
        failure.profile = profile
        self.failure = failure
    }

    package init(_ error: FetchError) {
        stage = .fetch
        var failure = FailureReason(error.failureCode, error.message)
        failure.profile = error.profile
        failure.needs = error.needs
        self.failure = failure
        httpStatus = error.httpStatus
        retryAfter = error.retryAfter
    }

    init(_ code: FetchError.Code, _ url: String, _ reason: String) {
        self.init(FetchError(code, "\(Self.shown(url)): \(reason)"))
    }

    init(_ error: TranscodeError) {
        stage = .transcode
        failure = error.failure
    }

    init(_ error: StoreError, stage: Stage) {
        let code: FailureCode = error.code == .nameTaken ? .nameTaken : .storeFailed
        self.init(stage, error.isLocal ? .localFault : code, error.description)
    }

    /// SDWebImage 5.21.5, SDWebImageErrorCancelled.
    static let cancelled = LoadError(FetchError(.cancelled, "cancelled"))

    /// SDWebImage 5.21.5, SDWebImageErrorInvalidURL.
    static let noURL = LoadError(.lookUp, .invalidURL, "there is no URL to load")

    /// SDWebImage 5.21.5, SDWebImageErrorBlackListed.
    static func blocked(_ url: String) -> LoadError {
        LoadError(.lookUp, .blocked, "\(shown(url)): is blocked")
    }

    /// The context names a part that the manager's configuration lacks.
    static func notConfigured(_ kind: String, _ name: String) -> LoadError {
        LoadError(
            .lookUp, .notConfigured, "the context names the \(kind) '\(name)', which is not configured here")
    }

    /// The URL without userinfo and query. Invalid URLs are not shown.
    private static func shown(_ url: String) -> String { (try? SourceURL(url))?.description ?? "the URL" }

    func carrying(_ report: LoadReport) -> LoadError {
        var copy = self
        copy.report = report
        copy.httpStatus = httpStatus ?? report.httpStatus
        return copy
    }

    /// True if the load's task was cancelled or nothing may be published any more.
    public var isCancellation: Bool { failure.failureCode == .cancelled }

    /// How long the origin is paused; nil for every other error.
    package var heldFor: Duration? { failure.failureCode == .originHeld ? retryAfter ?? .zero : nil }

    /// True if the machine lacks something that every load needs, or the load's credential profile. The URL may be
    /// fine.
    public var isLocalFault: Bool { failure.isLocalFault }

    /// True if the original's bytes do not decode.
    var isUndecodable: Bool { stage == .transcode && failure.failureCode == .badImageData }
}

/// Runs `body` and converts its errors to load errors of `stage`.
func storing<Value>(
    _ body: @autoclosure () throws(StoreError) -> Value, stage: LoadError.Stage = .store
) throws(LoadError) -> Value {
    do throws(StoreError) { return try body() } catch { throw LoadError(error, stage: stage) }
}
