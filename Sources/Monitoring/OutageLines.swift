/// Which failures of the database become lines of the log: the first of an outage, then one in ten seconds at most.
struct OutageLines {
    private static let pause = Duration.seconds(10)

    /// When the outage began; nil while there is none.
    private var since: ContinuousClock.Instant?
    private var written: ContinuousClock.Instant?
    /// The failures since the last line.
    private var failures = 0

    /// A call failed. Returns the failures that a line is to report; nil when none is to be written.
    mutating func fail(at now: ContinuousClock.Instant) -> Int? {
        since = since ?? now
        failures += 1
        if let written, now - written < Self.pause { return nil }
        written = now
        defer { failures = 0 }
        return failures
    }

    /// The database answers again. Returns how long it did not; nil when there was no outage.
    mutating func end(at now: ContinuousClock.Instant) -> Duration? {
        defer { self = OutageLines() }
        return since.map { now - $0 }
    }
}
