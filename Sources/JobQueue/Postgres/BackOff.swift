/// Retries with doubling waits until a time limit.
struct BackOff {
    private let deadline: ContinuousClock.Instant
    private var tries = 0

    init(maxWait: Duration, now: ContinuousClock.Instant = .now) { deadline = now + maxWait }

    /// Whether a statement that failed with `error` may be repeated now.
    ///
    /// Serialization failures and deadlocks (class 40), and sessions that the server ended between two calls, are
    /// repeated even without time left: no server has to come back first.
    func allows(
        _ error: QueueError, _ repeating: PostgresJobQueue.Repeating, now: ContinuousClock.Instant = .now
    ) -> Bool {
        guard error.isTransient else { return false }
        let collided = error.sqlState?.hasPrefix("40") ?? false
        let undone = error.code == .unreachable || error.sqlState.map { SQLState($0).isUndone } ?? false
        guard undone || repeating == .harmless else { return false }
        if (collided && tries < 10) || (error.code == .connectionLost && tries < 2) { return true }
        return now < deadline
    }

    /// The next wait: up to 10 ms, 20 ms, … 2 s, half of it random.
    mutating func next() -> Duration {
        let cap = min(2_000, 10 << min(tries, 10))
        tries += 1
        return .milliseconds(Int.random(in: cap / 2...cap))
    }
}
