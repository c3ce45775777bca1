public import ImageModel

/// A list submitted to a prefetcher, with its own progress and cancellation.
///
/// Source: SDWebImage 5.21.5, `SDWebImagePrefetchToken`.
public struct PrefetchToken: Sendable {
    typealias ID = UInt64

    let id: ID
    /// The submitted URLs, duplicates included.
    public let urls: [String]
    let prefetcher: ImagePrefetcher

    /// Cancels the list: waiting loads never begin, running ones end with error 2002, and its closures are not called
    /// again.
    public func cancel() { prefetcher.cancel(id) }
}

/// How to load each URL of a list.
public struct PrefetchOptions: Sendable {
    /// Variants to make. With none, the default, only the original is stored.
    public var variants: [Variant] = []
    /// SDWebImage's options, `lowPriority` by default.
    public var options: LoadOptions = .lowPriority
    /// SDWebImage's context, empty by default.
    public var context = LoadContext()

    /// The defaults.
    public init() {}
}

/// Observes a prefetcher. Calls are in order, one at a time, and must not block.
///
/// Source: SDWebImage 5.21.5, `SDWebImagePrefetcherDelegate`.
public protocol PrefetchObserver: Sendable {
    /// An element ended. The numbers are sums over running tokens.
    func didPrefetch(_ url: String, finished: Int, total: Int)

    /// The only running token is complete. The numbers are its own.
    func didFinish(total: Int, skipped: Int)
}
