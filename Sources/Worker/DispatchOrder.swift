internal import JobQueue

/// In which order the jobs of one claim begin. All of them begin at once; but to set one up takes its moment.
///
/// An origin is asked for a few things at a time, so that the one with the most jobs decides when a claim is through, and
/// what it waits for at the start it never makes up. So within a priority that job goes first behind which the most of its
/// own origin wait: hundreds of hosts that may never answer are set up beside such an origin, and not before it. Where
/// origins have a job each, it is the queue's order.
package struct DispatchOrder {
    let jobs: [Job]

    init(_ claimed: [Job]) {
        // Nothing to put in order, and the quickest of workers claim job by job.
        guard claimed.count > 2 else {
            jobs = claimed
            return
        }
        struct Lane: Hashable {
            let origin: String
            let priority: Int
        }
        var left: [Lane: Int] = [:]
        for job in claimed { left[Lane(origin: job.origin, priority: job.priority), default: 0] += 1 }
        let places = claimed.enumerated().map { index, job in
            let lane = Lane(origin: job.origin, priority: job.priority)
            let behind = (left[lane] ?? 0) - 1
            left[lane] = behind
            return (priority: job.priority, before: -behind, index: index)
        }
        jobs = places.sorted { ($0.priority, $0.before, $0.index) < ($1.priority, $1.before, $1.index) }
            .map { claimed[$0.index] }
    }
}
