/// Whether a load uses the cache or downloads.
///
/// Source: SDWebImage 5.21.5, `SDWebImageManager`, its query, original query and download steps.
enum CacheDecision: Sendable, Equatable {
    /// Everything wanted is cached or can be made of the cached original.
    case useCached
    /// The cached original is compared with the source's.
    case revalidate
    case download
    /// Nothing is cached and no download is allowed. This is no error.
    case unavailable

    /// - Parameters:
    ///   - hasOriginal: the original is cached.
    ///   - wanted: the number of variants.
    ///   - missing: how many of them are not cached.
    ///   - refreshes: the load has the option RefreshCached.
    ///   - mayDownload: hook, options and sources allow a download.
    init(hasOriginal: Bool, wanted: Int, missing: Int, refreshes: Bool, mayDownload: Bool) {
        // Cached variants suffice without their original.
        let isComplete = missing == 0 && wanted > 0
        if mayDownload && refreshes {
            self = hasOriginal ? .revalidate : .download
        } else if hasOriginal || isComplete {
            self = .useCached
        } else {
            self = mayDownload ? .download : .unavailable
        }
    }
}
