import Glibc

/// A point in time with the resolution of file systems.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Nanoseconds since 1970-01-01 00:00 UTC, clamped to the years 1677 to 2262.
    public let nanoseconds: Int64

    /// `nanoseconds` after 1970-01-01 00:00 UTC.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// `seconds` after 1970-01-01 00:00 UTC.
    public init(seconds: Int) { self.init(clamping: Int128(seconds) * 1_000_000_000) }

    private init(clamping nanoseconds: Int128) { self.nanoseconds = Int64(clamping: nanoseconds) }

    /// The host's current time.
    public static var now: Timestamp { now(by: CLOCK_REALTIME) }

    /// The kernel's current time for dating files, some milliseconds behind.
    static var nowOfFiles: Timestamp { now(by: CLOCK_REALTIME_COARSE) }

    private static func now(by clock: clockid_t) -> Timestamp {
        var time = timespec()
        clock_gettime(clock, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Whole seconds since 1970, rounded down.
    public var seconds: Int {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return Int(remainder < 0 ? quotient - 1 : quotient)
    }

    /// Earlier comes first.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.nanoseconds < right.nanoseconds }

    /// `span` before `time`, clamped.
    public static func - (time: Timestamp, span: Duration) -> Timestamp {
        let (seconds, attoseconds) = span.components
        let nanoseconds = Int128(seconds) * 1_000_000_000 + Int128(attoseconds / 1_000_000_000)
        return Timestamp(clamping: Int128(time.nanoseconds) - nanoseconds)
    }
}
