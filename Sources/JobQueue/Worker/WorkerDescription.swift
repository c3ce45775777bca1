/// What a worker registers with the database at its start.
public struct WorkerDescription: Sendable {
    /// A name for operators; the identity is a new id per start.
    public var name: String
    /// The host's name.
    public var host: String
    /// The process id.
    public var processID: Int
    /// The program's version.
    public var version: String
    /// How many jobs it runs at once.
    public var slots: Int
    /// The random id kept in its cache root; nil when it has none.
    public var cacheID: String?
    /// The queue that it will claim from; nil for any.
    public var queue: String?

    /// Describes a worker.
    public init(
        name: String, host: String, processID: Int, version: String, slots: Int, cacheID: String? = nil,
        queue: String? = nil
    ) {
        self.name = name
        self.host = host
        self.processID = processID
        self.version = version
        self.slots = slots
        self.cacheID = cacheID
        self.queue = queue
    }
}

/// A worker that drains the same queue into the same cache on the same host.
package struct OtherDrain: Sendable, Equatable {
    /// Its process id; nil when it gave none.
    package let processID: Int?
    /// The time since its start, in whole seconds.
    package let age: Duration
}

/// The answer to a heartbeat.
public struct HeartbeatReply: Sendable {
    /// Jobs of this worker that were cancelled: stop them and complete them as `.cancelled`.
    public let cancelled: [Claim]
    /// Whether the lease had expired before this heartbeat, which then did not extend it: the jobs are given to other
    /// workers, and this one must register again. It may still complete jobs that no other worker was given.
    public let leaseExpired: Bool
    /// The lease from now on, unless it has expired.
    public let lease: Duration
    /// How long after this heartbeat the next one is due while the worker holds jobs: 0.75 s, in a large fleet up to 2 s.
    public let pause: Duration
    /// Whether this worker is to run maintenance now. Of all workers of the fleet, one at a time gets this answer.
    public let isMaintenanceDue: Bool
    /// How far this machine's time of day is ahead of the database's, negative when it is behind; zero when the time of
    /// the call can explain the difference. No time that is recorded and no lease depends on it.
    public let clockOffset: Duration
}
