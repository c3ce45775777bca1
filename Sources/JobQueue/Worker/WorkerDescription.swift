/// What a worker says about itself when it starts.
public struct WorkerDescription: Sendable {
    /// A name for people; identity is a fresh number per start.
    public var name: String
    /// The machine.
    public var host: String
    /// The process.
    public var processID: Int
    /// The program's version.
    public var version: String
    /// How many jobs it works on at once.
    public var slots: Int
    /// The random id kept in its cache root; nil when it has none.
    public var cacheID: String?

    /// Describes a worker.
    public init(
        name: String, host: String, processID: Int, version: String, slots: Int, cacheID: String? = nil
    ) {
        self.name = name
        self.host = host
        self.processID = processID
        self.version = version
        self.slots = slots
        self.cacheID = cacheID
    }
}

/// What a heartbeat brings back.
public struct HeartbeatReply: Sendable {
    /// Jobs of this worker that somebody cancelled: stop them and complete them as `.cancelled`.
    public let cancelled: [Claim]
    /// True when the lease had run out before this heartbeat, which did not extend it: the jobs are given to others, and the
    /// worker must start anew.
    public let leaseWasLost: Bool
    /// The lease that holds from now on, unless it was lost.
    public let lease: Duration
}
