/// A finished upgrade of an embedded cluster to another major version of Postgres.
package struct ClusterUpgrade: Sendable, Equatable {
    /// The major version before.
    package let from: Int
    /// The major version now.
    package let to: Int
    /// The data directory of the version before. Larder does not use it any more and does not delete it.
    package let oldData: String

    package init(from: Int, to: Int, oldData: String) {
        self.from = from
        self.to = to
        self.oldData = oldData
    }
}
