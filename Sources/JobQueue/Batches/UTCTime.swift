import Glibc

/// A time by the database's clock.
struct UTCTime: Sendable {
    /// Microseconds since 1970.
    let microseconds: Int64

    /// `2026-01-31T12:34:56.789Z`, truncated to milliseconds like Postgres' `to_char`.
    var iso8601: String {
        let (seconds, rest) = microseconds.flooredQuotient(by: 1_000_000)
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func digits(_ value: some BinaryInteger, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = "\(digits(parts.tm_year + 1_900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))"
        let clock = "\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):\(digits(parts.tm_sec, 2))"
        return "\(day)T\(clock).\(digits(rest / 1_000, 3))Z"
    }
}

extension Int64 {
    /// The quotient rounded towards minus infinity, with a non-negative remainder.
    fileprivate func flooredQuotient(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
