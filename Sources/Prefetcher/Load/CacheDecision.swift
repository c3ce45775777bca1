/// What a load does once it knows what is cached: SDWebImage's decision whether to download.
///
/// Source: SDWebImage 5.21.5, `SDWebImageManager`, its query, original query and download steps.
enum CacheDecision: Sendable, Equatable {
    /// All there is to have is cached, or can be made of what is.
    case useCached
    /// Ask whether the cached original is still the right one.
    case revalidate
    /// Ask for the original.
    case download
    /// Nothing is cached and nothing may be downloaded: no picture, and no error.
    case nothing

    /// Decides.
    ///
    /// - Parameters:
    ///   - hasOriginal: the original is cached.
    ///   - wanted: how many variants the load wants.
    ///   - missing: how many of them are to be made.
    ///   - refreshes: the load has the option RefreshCached.
    ///   - mayDownload: neither a hook, nor the options, nor the sources forbid it.
    static func next(hasOriginal: Bool, wanted: Int, missing: Int, refreshes: Bool, mayDownload: Bool) -> CacheDecision
    {
        // A variant under its full key answers for itself, whether or not its original is still there.
        let isComplete = missing == 0 && (hasOriginal || wanted > 0)
        if mayDownload && refreshes { return hasOriginal ? .revalidate : .download }
        if isComplete || hasOriginal { return .useCached }
        return mayDownload ? .download : .nothing
    }

    static func next(_ found: FoundImages, _ plan: LoadPlan, mayDownload: Bool) -> CacheDecision {
        next(
            hasOriginal: found.original != nil, wanted: plan.storesVariants ? plan.variants.count : 0,
            missing: found.missing(plan).count, refreshes: plan.options.contains(.refreshCached),
            mayDownload: mayDownload)
    }
}
