import FoundationEssentials
import Glibc

/// A worker's simulated clock, by libfaketime.
enum SteppedClock {
    /// The library of Debian's package libfaketime; nil if it is not installed.
    static var library: String? {
        let parents = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return parents.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }.first { access($0, R_OK) == 0 }
    }

    /// The largest step forward, in seconds: a day, or half of the time since the machine's start.
    ///
    /// libfaketime subtracts the step from each timer that is set meanwhile, including timers of monotonic clocks,
    /// which count from that start: a time before it is refused (EINVAL), and a process started meanwhile waits
    /// forever.
    static var largestStep: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return min(86_400, Double(time.tv_sec) / 2)
    }
}
