internal import Concurrency
import Glibc

extension ContinuousClock {
    /// The rate per second at which `work` does `count` things.
    package func rate(of count: Int, _ work: () async throws -> Void) async rethrows -> Double {
        let start = now
        try await work()
        return Double(count) / (now - start).seconds
    }

    /// The rate of steps with `width` things each, until `limit` are done or `budget` has passed, so that a slow disk
    /// shortens the sample.
    package func rate(
        of width: Int, limit: Int, within budget: Duration = .milliseconds(600), _ step: () async throws -> Void
    ) async rethrows -> Double {
        let start = now
        var done = 0
        repeat {
            try await step()
            done += width
        } while done < limit && now - start < budget
        return Double(done) / (now - start).seconds
    }
}

/// User and system seconds of this process without its children.
package var processorSeconds: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}
