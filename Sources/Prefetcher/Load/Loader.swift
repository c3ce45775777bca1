/// Performs load requests. `ImageManager` is the implementation; tests and benchmarks substitute others.
public protocol Loader: Sendable {
    /// Returns when the requested original and variants are in the cache. Cancelling the task ends the load.
    ///
    /// - Throws: `LoadError` when the original cannot be had or nothing may be stored.
    func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport
}
