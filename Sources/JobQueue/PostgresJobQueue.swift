internal import Executors

/// A queue of jobs in Postgres: enqueue, follow batches, and work.
///
/// Holds at most two connections, made on first use and made anew when they break: one for everything, one so that
/// heartbeats never wait behind a long statement. Works through pgbouncer in transaction mode.
public final class PostgresJobQueue: Sendable {
    /// How to reach and use the database.
    public struct Configuration: Sendable {
        /// A libpq URL or key/value string.
        public var databaseURL: String
        /// How long one connection attempt may take; 5 s by default, at least 2 s.
        public var connectTimeout: Duration = .seconds(5)
        /// How long one statement may take before it is cancelled; 60 s by default.
        public var statementTimeout: Duration = .seconds(60)
        /// How long calls wait for a database that is away, before they throw `.unreachable`; zero by default. Workers
        /// set it to minutes: an outage then costs them time only. Heartbeats never wait.
        public var patience: Duration = .zero

        /// The default configuration for a database.
        public init(databaseURL: String) { self.databaseURL = databaseURL }
    }

    let connection: Connection
    let pulse: Connection
    let configuration: Configuration

    /// Prepares a queue; the first call connects.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        connection = Connection(configuration, name: "queue")
        pulse = Connection(configuration, name: "queue-pulse")
    }

    /// Checks that the database answers, is migrated, and offers this program's worker protocol.
    ///
    /// Throws `.unreachable`, `.badDatabaseURL`, `.notMigrated` or `.protocolMismatch`.
    public func checkReady() async throws(QueueError) {
        throw QueueError(.unreachable, "")
    }
}
