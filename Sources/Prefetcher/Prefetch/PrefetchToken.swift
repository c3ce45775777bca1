public import ImageModel
internal import Transcoder

/// One list that was handed to a prefetcher: the unit of progress and of cancel.
///
/// Source: SDWebImage 5.21.5, `SDWebImagePrefetchToken`.
public struct PrefetchToken: Sendable {
    typealias ID = UInt64

    let id: ID
    /// The URLs as submitted, duplicates included.
    public let urls: [String]
    let prefetcher: ImagePrefetcher

    /// Gives the list up: what waits never starts, what runs ends with error 2002, and its closures are not called again.
    public func cancel() { prefetcher.cancel(id) }
}

/// What is wanted of each URL of a list.
public struct PrefetchOptions: Sendable {
    /// Variants to make; none by default: the original alone.
    public var variants: [Variant] = []
    /// SDWebImage's options, `lowPriority` by default.
    public var options: LoadOptions = .lowPriority
    /// SDWebImage's context; nothing by default.
    public var context = LoadContext()

    /// What SDWebImage's prefetcher wants where nobody says otherwise.
    public init() {}
}

/// Who watches a prefetcher: called in order, one call at a time, and not to block.
///
/// Source: SDWebImage 5.21.5, `SDWebImagePrefetcherDelegate`.
public protocol PrefetchObserver: Sendable {
    /// An element ended, well or not. The numbers are sums over the tokens that still run.
    func didPrefetch(_ url: String, finished: Int, total: Int)

    /// The only token that ran is complete; the numbers are its own.
    func didFinish(total: Int, skipped: Int)
}
