/// A finished upgrade of an embedded cluster to another major version of Postgres.
public struct ClusterUpgrade: Sendable, Equatable {
    /// The major version before.
    public let from: Int
    /// The major version now.
    public let to: Int
    /// The data directory of the version before. Larder does not use it any more and does not delete it.
    public let oldData: String

    package init(from: Int, to: Int, oldData: String) {
        self.from = from
        self.to = to
        self.oldData = oldData
    }
}
