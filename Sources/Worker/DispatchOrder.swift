internal import JobQueue

/// The order in which the attempts of one claim start.
///
/// Each origin allows few requests at once, so the origin with the most jobs determines how long a claim takes. Within
/// a priority, jobs with the most later jobs of the same origin come first. With one job per origin this is the queue's
/// order.
struct DispatchOrder {
    let jobs: [Job]

    init(_ claimed: [Job]) {
        guard claimed.count > 2 else {
            jobs = claimed
            return
        }
        struct Group: Hashable {
            let origin: String
            let priority: Int
        }
        var left: [Group: Int] = [:]
        for job in claimed { left[Group(origin: job.origin, priority: job.priority), default: 0] += 1 }
        let places = claimed.enumerated().map { index, job in
            let group = Group(origin: job.origin, priority: job.priority)
            let behind = (left[group] ?? 0) - 1
            left[group] = behind
            return (priority: job.priority, rank: -behind, index: index)
        }
        jobs = places.sorted { ($0.priority, $0.rank, $0.index) < ($1.priority, $1.rank, $1.index) }
            .map { claimed[$0.index] }
    }
}

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
