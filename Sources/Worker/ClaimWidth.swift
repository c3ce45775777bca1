/// How many jobs a worker holds for each of its slots: 1, and up to 8 while the cache answers all jobs.
///
/// Such jobs take microseconds and no memory to speak of, and a statement for eight of them takes Postgres almost as
/// long as one for a hundred. A pure value.
struct ClaimWidth: Sendable {
    private static let most = 8

    private(set) var factor = 1
    /// Results in a row that came from the cache.
    private var cached = 0

    /// A job ended: a round of jobs from the cache doubles the factor, any other job ends that.
    mutating func note(isFromCache: Bool, slots: Int) {
        cached = isFromCache ? cached + 1 : 0
        if !isFromCache { factor = 1 }
        guard cached >= slots * factor, factor < Self.most else { return }
        factor *= 2
        cached = 0
    }
}
