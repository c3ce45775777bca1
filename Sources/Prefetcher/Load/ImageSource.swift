public import Downloader
public import ImageModel

/// Loads originals (SDWebImage 5.21.5, `SDImageLoader`).
///
/// The last source of `ImageManager.Configuration.sources` that can load a URL loads it (`SDImageLoadersManager`).
public protocol ImageSource: Sendable {
    /// Whether this source can load `url`.
    func canLoad(_ url: String) -> Bool

    /// Writes the original into `file`, an empty open file that the caller keeps; returns early if the task is
    /// cancelled.
    ///
    /// - Parameters:
    ///   - request: the URL and the cached validators.
    ///   - file: receives the body.
    ///   - options: the load's options; priority, cookies and certificates are also in `request`.
    /// - Throws: `LoadError`; the contents of `file` are then ignored.
    func load(
        _ request: FetchRequest, options: LoadOptions, into file: Int32
    ) async throws(LoadError) -> FetchResponse

    /// Whether a URL is put on the blocklist after a failure; by default as `FailureClassification` says.
    func shouldBlock(_ url: String, after failure: FailureReason) -> Bool
}

extension ImageSource {
    /// As `FailureClassification` says.
    public func shouldBlock(_ url: String, after failure: FailureReason) -> Bool {
        FailureClassification.of(failure).blocks
    }
}

/// Replaces a request before it is sent; nil fails the load with error 2000.
public typealias RequestModifier = @Sendable (FetchRequest) -> FetchRequest?

/// Originals from http and https URLs (SDWebImage 5.21.5, `SDWebImageDownloader`).
extension ImageDownloader: ImageSource {
    /// Always true: other URLs fail with its error.
    public func canLoad(_ url: String) -> Bool { true }

    /// Downloads the original under the downloader's rules and limits.
    public func load(
        _ request: FetchRequest, options: LoadOptions, into file: Int32
    ) async throws(LoadError) -> FetchResponse {
        do throws(FetchError) {
            return try await fetch(request, into: file)
        } catch {
            throw LoadError(error)
        }
    }
}
