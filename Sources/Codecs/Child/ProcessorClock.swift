private import Glibc

/// The processor time of this process.
enum ProcessorClock {
    /// User and system time of all threads since the process started.
    static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
