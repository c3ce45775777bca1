/// When a worker calls one kind of maintenance again.
///
/// All workers of a fleet call, and the first one that finds a task due runs it. For routine tasks a worker whose call
/// found none due waits twice as long as before, up to four intervals: most calls of a large fleet find none. A worker
/// whose call ran a task waits the interval again. One is due every second, so the calls of a worker that is alone run
/// one. Urgent tasks keep their interval: lost jobs must run again within 2 s of the end of a lease, also when the
/// workers that ran these tasks end.
public struct MaintenancePace: Sendable, Equatable {
    /// The longest wait between two calls of routine maintenance, in intervals.
    public static let longest = 4

    private let interval: Duration
    private let longest: Int
    private var intervals = 1

    /// The pace before the first call.
    public init(_ kind: MaintenanceKind) {
        interval = kind.interval
        longest = kind == .routine ? Self.longest : 1
    }

    /// The time until the next call.
    public var wait: Duration { interval * intervals }

    /// A call was answered, and ran so many tasks, also ones that failed.
    public mutating func answered(tasks: Int) { intervals = tasks > 0 ? 1 : min(intervals * 2, longest) }
}
