/// When a worker calls one kind of maintenance again.
///
/// All workers of a fleet call, and the first one that finds a task due runs it. A worker whose call found none due
/// waits twice as long as before, up to eight intervals: the calls of a large fleet do not grow with its workers. A
/// worker whose call ran a task waits the interval again. A task of the urgent and of the routine kind is due at least
/// every second, so a worker that is alone always runs one.
public struct MaintenancePace: Sendable, Equatable {
    /// The longest wait, in intervals of the kind.
    public static let longest = 8

    private let interval: Duration
    private let longest: Int
    private var intervals = 1

    /// The pace before the first call.
    public init(_ kind: MaintenanceKind) {
        interval = kind.interval
        // Of the others mostly nothing is due, also for a worker that is alone.
        longest = kind == .urgent || kind == .routine ? Self.longest : 1
    }

    /// The time until the next call.
    public var wait: Duration { interval * intervals }

    /// A call was answered, and ran so many tasks.
    public mutating func answered(tasks: Int) { intervals = tasks > 0 ? 1 : min(intervals * 2, longest) }
}
