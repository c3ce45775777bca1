/// Jobs that a worker holds per slot: 1, and up to 8 while the cache answers all jobs.
///
/// Cached jobs take microseconds and almost no memory, and Postgres needs nearly the same time to claim 8 jobs as 100.
struct ClaimWidth: Sendable {
    private static let most = 8

    private(set) var factor = 1
    /// Consecutive results from the cache.
    private var cached = 0

    /// Doubles the factor after a full round of cached jobs; any other job resets it to 1.
    mutating func note(isFromCache: Bool, slots: Int) {
        cached = isFromCache ? cached + 1 : 0
        if !isFromCache { factor = 1 }
        guard cached >= slots * factor, factor < Self.most else { return }
        factor *= 2
        cached = 0
    }
}
