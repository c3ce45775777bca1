/// What is known of an embedded cluster at one moment.
public struct ClusterStatus: Sendable, Equatable {
    /// Whether there is a cluster and whether its server runs.
    public enum State: Sendable, Equatable {
        case notCreated
        case stopped
        /// Its server runs; `pid` is the process id of the postmaster.
        case running(pid: Int32)
    }

    /// Whether there is a cluster and whether its server runs.
    public let state: State
    /// Where the cluster lies or would lie.
    public let directory: String
    /// Where its socket is.
    public let socketDirectory: String
    /// The server's version: whole (`15.8 (Debian …)`) while it runs, the major version when it is stopped.
    public let serverVersion: String?
    /// Why `directory` is not in the cluster's home; nil where it is.
    public let moved: ClusterMove?
}
