/// The status of an embedded cluster.
package struct ClusterStatus: Sendable, Equatable {
    /// Whether the cluster exists and its server runs.
    package enum State: Sendable, Equatable {
        case notCreated
        case stopped
        /// `pid` is the process id of the postmaster.
        case running(pid: Int32)
    }

    /// Whether the cluster exists and its server runs.
    package let state: State
    /// The directory of the cluster, also before it is created.
    package let directory: String
    /// The directory of its socket.
    package let socketDirectory: String
    /// The full version (`15.8 (Debian …)`) of a running server, the major version of a stopped one.
    package let serverVersion: String?
    /// Why `directory` is not in the home, one line; nil when it is.
    package let moved: String?
}
