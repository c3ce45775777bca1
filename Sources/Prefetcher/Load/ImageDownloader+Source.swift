public import Downloader
public import ImageModel

/// Originals from http and https URLs (SDWebImage 5.21.5, `SDWebImageDownloader`).
extension ImageDownloader: ImageSource {
    /// True: another URL fails with its error.
    public func canLoad(_ url: String) -> Bool { true }

    /// SDWebImage's rule except for invalid URLs, which fail as fast without the blocklist.
    public func shouldBlock(_ url: String, after failure: FailureReason) -> Bool {
        if failure.domain == "SDWebImageErrorDomain" && failure.code == 1000 { return false }
        return BlockRule.standard(failure)
    }

    /// Downloads the original by the rules and limits of the downloader.
    public func load(
        _ request: FetchRequest, options: LoadOptions, into file: Int32
    ) async throws(LoadError) -> FetchResponse {
        do throws(FetchError) {
            return try await fetch(request, into: file)
        } catch {
            if error.code == .notModified && request.validators != nil { return .notModified }
            throw LoadError(error)
        }
    }
}
