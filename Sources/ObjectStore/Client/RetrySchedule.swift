/// When a request to an object store is sent again. A pure value.
package struct RetrySchedule: Sendable, Hashable {
    /// Requests in all, `5`.
    package var attempts = 5
    /// The longest first pause, `100 ms`; each further one may be twice as long.
    package var first = Duration.milliseconds(100)
    /// The longest pause, `5 s`.
    package var longest = Duration.seconds(5)

    /// The defaults.
    package init() {}

    /// The pause before the next request; nil when there is none.
    ///
    /// - Parameters:
    ///   - attempt: requests sent so far, from 1 on.
    ///   - fraction: a random number from 0 to 1: the pauses of many clients spread over their whole length.
    package func pause(after attempt: Int, _ error: ObjectStoreError, fraction: Double) -> Duration? {
        guard error.isTransient, attempt < attempts else { return nil }
        return min(longest, first * (1 << min(attempt - 1, 20))) * fraction
    }
}
