/// Brings a database to this program's schema.
public struct Migrator: Sendable {
    /// One migration and whether the database has it.
    public struct Step: Sendable {
        /// Its number, from 1.
        public let number: Int
        /// Its file name without the ending.
        public let name: String
        /// When it was applied, as the database writes it; nil when it is pending.
        public let appliedAt: String?
    }

    private let configuration: PostgresJobQueue.Configuration

    /// A migrator for a database.
    public init(_ configuration: PostgresJobQueue.Configuration) { self.configuration = configuration }

    /// The migrations, applied and pending. Throws `.newerSchema`, `.changedMigration`, `.unreachable`.
    public func status() async throws(QueueError) -> [Step] {
        throw QueueError(.unreachable, "")
    }

    /// Applies what is pending, each in its own transaction under an advisory lock; returns what this call applied.
    /// Any number of programs may do so at once.
    @discardableResult
    public func migrate() async throws(QueueError) -> [Step] {
        throw QueueError(.unreachable, "")
    }
}
