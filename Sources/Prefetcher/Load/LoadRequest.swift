public import ImageModel

/// A URL and the variants to make of it.
public struct LoadRequest: Sendable {
    /// The source. Its bytes as given are its identity in keys and blocklist.
    public var url: String
    /// The variants, in the pipeline's order. With none the original alone is stored.
    public var variants: [Variant]
    /// How the cache key is made of the URL, unless the context or the manager has a filter; nil takes the URL itself.
    package var keyRule: CacheKeyRule?
    /// SDWebImage's options; none by default.
    public var options: LoadOptions
    /// SDWebImage's context; empty by default.
    public var context: LoadContext
    /// Called with the number of received bytes, and of expected ones when known; must not block.
    public var progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)?
    /// Replaces the manager's blocklist. A worker passes the database's.
    package var blocklist: (any Blocklist)?
    /// Whether the report has the steps of the load; `false` by default.
    package var recordsSteps = false
    /// Checked before each file gets its name. A worker whose lease has expired returns false.
    package var mayPublish: @Sendable () -> Bool

    /// A request.
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

/// Performs load requests. `ImageManager` is the implementation; tests and benchmarks substitute others.
public protocol Loader: Sendable {
    /// Returns when the requested original and variants are in the cache. Cancelling the task ends the load.
    ///
    /// - Throws: `LoadError` when the original cannot be had or nothing may be stored.
    func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport
}
