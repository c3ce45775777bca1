/// A queue of jobs in Postgres: enqueue, follow batches, and work.
///
/// Holds at most six connections, each made on first use and made anew when it breaks: one for everything, one for
/// claims, so that a worker claims while it completes, one for heartbeats alone, one for maintenance that others wait
/// for, one for the rest of it and one for vacuum, so that neither a long statement nor a blocked maintenance costs a worker
/// its lease.
/// Works through pgbouncer in transaction mode.
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
        /// Maintenance works in small portions; what takes longer is stuck, and is tried again by whoever comes next.
        var upkeepTimeout: Duration = .seconds(5)
        /// A vacuum of the small tables takes a second; a detach may have to wait for a reader. Both are done again later.
        var housekeepingTimeout: Duration = .seconds(10)

        /// The default configuration for a database.
        public init(databaseURL: String) { self.databaseURL = databaseURL }
    }

    /// The worker protocol this program speaks: the `_v1` of the functions.
    static let protocolVersion = 1

    let connection: Connection
    let claims: Connection
    let heartbeats: Connection
    let maintenance: Connection
    let urgentUpkeep: Connection
    let housekeeping: Connection
    private let configuration: Configuration

    /// Prepares a queue; the first call connects.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        connection = Connection(configuration, name: "queue")
        claims = Connection(configuration, name: "queue-claims")
        heartbeats = Connection(configuration, name: "queue-heartbeats")
        var hurried = configuration
        hurried.statementTimeout = min(configuration.statementTimeout, configuration.upkeepTimeout)
        maintenance = Connection(hurried, name: "queue-maintenance")
        urgentUpkeep = Connection(hurried, name: "queue-urgent-maintenance")
        hurried.statementTimeout = min(configuration.statementTimeout, configuration.housekeepingTimeout)
        housekeeping = Connection(hurried, name: "queue-house")
    }

    /// Where a loop that does little else than complete runs best: on the thread of its connection. Only while the queue lives.
    package var completingExecutor: any TaskExecutor { connection.executor }

    /// Ends the connections; a later call makes new ones.
    public func close() async {
        await connection.close()
        await claims.close()
        await heartbeats.close()
        await maintenance.close()
        await urgentUpkeep.close()
        await housekeeping.close()
    }

    /// Checks that the database answers, is migrated, and offers this program's worker protocol.
    ///
    /// A database with newer migrations is fine as long as it offers the protocol.
    /// Throws `.unreachable`, `.refused`, `.badDatabaseURL`, `.notMigrated` or `.protocolMismatch`.
    public func checkReady() async throws(QueueError) {
        let known = Migration.all.count
        let applied: Int64
        let oldest: Int64
        let newest: Int64
        do throws(QueueError) {
            (applied, oldest, newest) = try await ask(
                "SELECT migrations, protocol_oldest, protocol_newest FROM larder.ready_v1()"
            ) { rows throws(QueueError) in
                (rows.integer(0, 0) ?? 0, rows.integer(0, 1) ?? 0, rows.integer(0, 2) ?? 0)
            }
        } catch {
            guard error.code == .notMigrated else { throw error }
            throw QueueError(
                .notMigrated, "the database has no Larder schema, or one older than this program's",
                sqlState: error.sqlState)
        }
        guard applied >= known else {
            throw QueueError(.notMigrated, "the database has \(applied) of \(known) migrations")
        }
        guard (oldest...max(oldest, newest)).contains(Int64(Self.protocolVersion)) else {
            throw QueueError(
                .protocolMismatch,
                "the database offers worker protocols \(oldest) to \(newest), not \(Self.protocolVersion)")
        }
    }

    /// What a repeated statement may do: whether it is harmless when the first one took effect after all.
    enum Repeating {
        /// Reads, and what is idempotent by design.
        case harmless
        /// Only when it certainly had no effect.
        case onlyUndone
    }

    /// Runs a statement, again after a collision, and again while the database is away, for `patience`.
    ///
    /// Waits outside the connection's thread and stops waiting when the task is cancelled.
    func ask<Value: Sendable>(
        _ sql: String, _ parameters: [Parameter] = [], repeating: Repeating = .harmless, patience: Duration? = nil,
        on connection: Connection? = nil, read: @Sendable (borrowing Rows) throws(QueueError) -> Value
    ) async throws(QueueError) -> Value {
        let connection = connection ?? self.connection
        var backOff = BackOff(patience: patience ?? configuration.patience)
        while true {
            do {
                return try await connection.query(sql, parameters, read: read)
            } catch {
                guard backOff.allows(error, repeating), !Task.isCancelled else { throw error }
            }
            do { try await Task.sleep(for: backOff.next()) } catch {
                throw QueueError(.unreachable, "cancelled while waiting for the database")
            }
        }
    }
}
