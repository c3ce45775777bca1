/// What a worker does with a job: loads its source and makes its variants.
///
/// `ImageManager` does it. Another one may stand in its place to measure what a worker costs beside the loads.
public protocol Loader: Sendable {
    /// Has everything that `request` asks for in the cache when it returns, and tells what it did.
    ///
    /// Ends early when its task is cancelled.
    ///
    /// - Throws: `LoadError` when the original cannot be had or nothing may be published.
    func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport
}
