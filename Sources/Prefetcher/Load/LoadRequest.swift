public import ImageModel

/// A URL and the variants to make of it.
public struct LoadRequest: Sendable {
    /// The source. Its exact bytes are its identity in keys and blocklist.
    public var url: String
    /// The variants, in the pipeline's order. With none the original alone is stored.
    public var variants: [Variant]
    /// Maps the URL to its cache key, unless the context or the manager has a filter; nil uses the URL.
    package var keyRule: CacheKeyRule?
    /// SDWebImage's options; none by default.
    public var options: LoadOptions
    /// SDWebImage's context; empty by default.
    public var context: LoadContext
    /// Called with the bytes received, and the bytes expected if known; must not block.
    public var progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)?
    /// Called with pictures of the part of the original that has arrived, in order and before the load returns, if the
    /// options contain `progressiveLoad`. They show the context's image, else the first variant, else the original. Nil
    /// by default.
    public var partial: (@Sendable (PartialImage) -> Void)?
    /// Replaces the manager's blocklist. Workers pass the database's.
    package var blocklist: (any Blocklist)?
    /// Whether the report includes the steps; `false` by default.
    package var recordsSteps = false
    /// Checked before each file becomes visible. False if the worker's lease has expired.
    package var mayPublish: @Sendable () -> Bool

    /// Creates a request for the URL and its variants.
    public init(
        url: String, variants: [Variant] = [], options: LoadOptions = [], context: LoadContext = LoadContext()
    ) {
        self.url = url
        self.variants = variants
        self.options = options
        self.context = context
        mayPublish = { true }
    }
}

/// Performs load requests. `ImageManager` implements it; tests and benchmarks substitute others.
public protocol Loader: Sendable {
    /// Returns when the requested original and variants are cached. Cancelling the task ends the load.
    ///
    /// - Throws: `LoadError` if the original cannot be loaded or nothing may be stored.
    func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport
}

/// A loader that reports many cached images at once.
package protocol CacheLoader: Loader {
    /// The reports of the loads for which the cache has everything, in the requests' order; nil for each other one.
    ///
    /// - Parameter requests: of URLs that are not blocked.
    func cached(_ requests: [LoadRequest]) async -> [LoadReport?]
}
