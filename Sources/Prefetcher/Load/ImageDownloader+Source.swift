public import Downloader

/// Originals from http and https URLs (SDWebImage 5.21.5, `SDWebImageDownloader`).
extension ImageDownloader: ImageSource {
    /// True: another URL fails with its error.
    public func canLoad(_ url: String) -> Bool { true }

    /// Downloads the original by the rules and limits of the downloader.
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
