import Glibc
import JobQueue
import Terminal
import Worker

/// A drain that finds another one of the same queue, cache and machine.
enum DrainOverlap {
    /// Longer than a lease of 15 s.
    private static let patience = Duration.seconds(20)

    /// Runs a worker. A drain that was killed holds the queue until its lease ends; that is waited for when its process
    /// is gone.
    static func run(_ worker: PrefetchWorker, until stop: ShutdownRequest) async throws -> PrefetchWorker.Summary {
        let end = ContinuousClock.now + patience
        while true {
            let summary = try await worker.run(until: stop)
            guard let other = summary.other, isGone(other), stop.urgency == .none, .now < end else { return summary }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// `another drain of queue default runs on this machine since 3m 20s (process 4711), this one leaves the work to it`
    static func text(_ other: OtherDrain, queue: String) -> String {
        let process = other.processID.map { " (process \($0))" } ?? ""
        return "another drain of queue \(queue) runs on this machine since "
            + "\(ProgressLine.time(Int(other.age.components.seconds)))\(process), this one leaves the work to it"
    }

    private static func isGone(_ other: OtherDrain) -> Bool {
        guard let process = other.processID.flatMap(pid_t.init(exactly:)), process > 0 else { return false }
        return kill(process, 0) != 0 && errno == ESRCH
    }
}
