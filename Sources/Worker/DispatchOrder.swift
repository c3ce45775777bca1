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
