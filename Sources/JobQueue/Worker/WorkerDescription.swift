/// A worker's registration data.
public struct WorkerDescription: Sendable {
    /// A name for operators; the identity is a new id per start.
    public var name: String
    /// The host's name.
    public var host: String
    /// The process id.
    public var processID: Int
    /// The program's version.
    public var version: String
    /// Jobs that run at once.
    public var slots: Int
    /// The random id in its cache root; nil if it has none.
    public var cacheID: String?
    /// The queue to claim from; nil for any.
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

/// Another worker that drains the same queue into the same cache on the same host.
package struct OtherDrain: Sendable, Equatable {
    /// Nil if it gave none.
    package let processID: Int?
    /// Time since its start, in whole seconds.
    package let age: Duration
}

/// The answer to a heartbeat.
public struct HeartbeatReply: Sendable {
    /// Cancelled jobs of this worker: stop them and complete them as `.cancelled`.
    public let cancelled: [Claim]
    /// Whether the lease had already expired, so that this heartbeat did not extend it: jobs go to other workers and
    /// this worker must register again. It may still complete jobs that no other worker was given.
    public let leaseExpired: Bool
    /// The lease from now on, unless expired.
    public let lease: Duration
    /// Time until the next heartbeat is due while the worker holds jobs: 0.75 s, in a large fleet up to 2 s.
    public let pause: Duration
    /// Whether this worker should run maintenance now. One worker of the fleet at a time gets this answer.
    public let isMaintenanceDue: Bool
    /// How far this machine's clock is ahead of the database's, negative if behind; zero if the call's duration can
    /// explain the difference. No recorded time or lease depends on it.
    public let clockOffset: Duration
}
