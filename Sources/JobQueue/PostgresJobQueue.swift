package import Concurrency

/// A queue of jobs in Postgres.
///
/// Keeps at most two sessions, opened on first use and reopened after they break. There are seven kinds of calls:
/// claims, heartbeats, each `MaintenanceKind`, and all others; calls of one kind run one at a time.
///
/// No long statement or lock wait costs a worker its lease:
/// - Maintenance that is not urgent leaves one session to the other calls. A heartbeat or urgent maintenance interrupts
///   it after waiting 2 s, another call after 10 s.
/// - A heartbeat or urgent maintenance interrupts a claim, and a heartbeat interrupts urgent maintenance, after 2 s.
///
/// Works through pgbouncer in transaction mode, and with a `CONNECTION LIMIT` of one session.
public final class PostgresJobQueue: Sendable {
    /// The database and the time limits of calls.
    public struct Configuration: Sendable {
        /// A libpq URL or key/value string.
        public var databaseURL: String
        /// Time limit of a connection attempt; 5 s by default, at least 2 s.
        public var connectTimeout: Duration = .seconds(5)
        /// Time limit of a statement, which is then cancelled; 60 s by default.
        public var statementTimeout: Duration = .seconds(60)
        /// How long calls wait for an unreachable database before throwing `.unreachable`; zero by default, 5 s in
        /// `larder work`. Heartbeats never wait.
        public var maxWait: Duration = .zero
        /// How long a heartbeat or urgent maintenance waits for a session before it interrupts another call; other
        /// calls wait five times as long. Far below the lease, but enough for a slow commit.
        var sessionWait: Duration = .seconds(2)
        /// Time limit of heartbeats and of ending a worker. Below the lease, so that another attempt can follow.
        var heartbeatTimeout: Duration = .seconds(5)
        /// Time limit of a maintenance statement, which is only slow if it waits for a lock.
        var maintenanceTimeout: Duration = .seconds(5)
        /// Time limit of a `MaintenanceKind.owner` statement; a detach may wait for a reader.
        var ownerTimeout: Duration = .seconds(10)

        var scheduleTimeout: Duration = .seconds(60)
        /// Creates a configuration with the defaults.
        public init(databaseURL: String) { self.databaseURL = databaseURL }

        /// Threads for all calls instead of one thread per kind, for a process with many queues. Limits the calls under
        /// way. Nil by default.
        package var threads: ThreadPool?

        func timeout(of kind: MaintenanceKind) -> Duration {
            switch kind {
            case .urgent, .routine: maintenanceTimeout
            case .owner: ownerTimeout
            case .schedule: scheduleTimeout
            }
        }
    }

    /// This program's worker protocol: the `_v1` in function names.
    static let protocolVersion = 1

    let connection: Connection
    let claims: Connection
    let heartbeats: Connection
    private let maintenance: [MaintenanceKind: Connection]
    private let configuration: Configuration
    private let cutOff: CallDeadline

    let sessions: SessionPool

    /// Does not connect; the first call does.
    public init(_ configuration: Configuration) {
        let cutOff = CallDeadline()
        self.cutOff = cutOff
        self.configuration = configuration
        let sessions = SessionPool(limit: 2, patience: configuration.sessionWait)
        self.sessions = sessions
        func connection(_ name: String, _ kind: CallKind, timeout: Duration? = nil) -> Connection {
            var limited = configuration
            if let timeout { limited.statementTimeout = min(limited.statementTimeout, timeout) }
            return Connection(limited, name: name, cutOff: cutOff, pool: sessions, kind: kind)
        }
        self.connection = connection("queue", .other)
        claims = connection("queue-claims", .claim)
        heartbeats = connection("queue-heartbeats", .heartbeat, timeout: configuration.heartbeatTimeout)
        maintenance = Dictionary(
            uniqueKeysWithValues: MaintenanceKind.allCases.map { kind in
                let name = "queue-\(kind.rawValue)"
                return (
                    kind,
                    connection(name, kind == .urgent ? .urgent : .long, timeout: configuration.timeout(of: kind))
                )
            })
    }

    /// Ends all statements and connection attempts by this time, including those under way; they fail with `.timeout`
    /// or `.unreachable`. Nil, the default, is no limit.
    package func end(by time: ContinuousClock.Instant?) { cutOff.set(time) }

    package var openSessions: Int { sessions.count }

    func connection(for kind: MaintenanceKind) -> Connection { maintenance[kind] ?? connection }

    /// Statements of all connections so far, including background work.
    package var statements: StatementCounts {
        ([connection, claims, heartbeats] + maintenance.values).map(\.counts).reduce(into: StatementCounts()) {
            $0.sent += $1.sent
            $0.failed += $1.failed
            $0.time += $1.time
        }
    }

    /// Closes the sessions; a later call opens them again.
    public func close() async {
        await connection.close()
        await claims.close()
        await heartbeats.close()
        for connection in maintenance.values { await connection.close() }
    }

    /// Checks that the database is reachable, migrated and offers this program's worker protocol. Newer migrations are
    /// allowed.
    ///
    /// Throws `.unreachable`, `.loginRefused`, `.badDatabaseURL`, `.notMigrated` or `.protocolMismatch`.
    public func checkReady() async throws(QueueError) {
        let count = Migration.all.count
        let applied: Int64
        let oldest: Int64
        let newest: Int64
        do throws(QueueError) {
            (applied, oldest, newest) = try await read(
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
        guard applied >= count else {
            throw QueueError(.notMigrated, "the database has \(applied) of \(count) migrations")
        }
        guard (oldest...max(oldest, newest)).contains(Int64(Self.protocolVersion)) else {
            throw QueueError(
                .protocolMismatch,
                "the database offers worker protocols \(oldest) to \(newest), not \(Self.protocolVersion)")
        }
    }

    /// Whether a statement may be repeated if its answer was lost.
    enum Repeating {
        /// Always: it reads or is idempotent.
        case harmless
        /// Only if it certainly had no effect.
        case onlyUndone
    }

    /// Runs a statement under READ COMMITTED. Repeats it after a serialization failure or deadlock, and while the
    /// database is unreachable, for at most `maxWait`.
    ///
    /// Waits off the connection's thread, and until the task is cancelled.
    ///
    /// - Parameters:
    ///   - cancellation: how the call reacts to cancellation.
    ///   - isTopLevel: never within BEGIN and COMMIT, which VACUUM and a concurrent DETACH refuse.
    func ask<Value: Sendable>(
        _ sql: String, _ parameters: [Parameter] = [], repeating: Repeating = .harmless,
        cancellation: CallCancellation = .untilSent, maxWait: Duration? = nil, isTopLevel: Bool = false,
        on connection: Connection? = nil,
        read: @Sendable (borrowing Rows) throws(QueueError) -> Value
    ) async throws(QueueError) -> Value {
        let connection = connection ?? self.connection
        var backOff = BackOff(maxWait: maxWait ?? configuration.maxWait)
        while true {
            do {
                return try await connection.call(
                    sql, parameters, cancellation: cancellation,
                    isReadCommitted: !isTopLevel, read: read)
            } catch {
                guard backOff.allows(error, repeating), !cutOff.isReached,
                    (try? await Task.sleep(for: backOff.next())) != nil
                else {
                    let isLeft = cancellation != .never && error.code == .unreachable && Task.isCancelled
                    throw isLeft ? CallCancellation.error : error
                }
            }
        }
    }
    /// As `ask`, for a statement that changes nothing. Ends with the task.
    func read<Value: Sendable>(
        _ sql: String, _ parameters: [Parameter] = [], maxWait: Duration? = nil,
        rows: @Sendable (borrowing Rows) throws(QueueError) -> Value
    ) async throws(QueueError) -> Value {
        try await ask(sql, parameters, cancellation: .anyTime, maxWait: maxWait, read: rows)
    }
}

/// Retries with doubling waits until a time limit.
struct BackOff {
    private let deadline: ContinuousClock.Instant
    private var tries = 0

    init(maxWait: Duration, now: ContinuousClock.Instant = .now) { deadline = now + maxWait }

    /// Whether a statement that failed with `error` may be repeated now.
    ///
    /// Serialization failures and deadlocks (class 40), and sessions that the server ended between two calls, are
    /// repeated even without time left: no server has to come back first.
    func allows(
        _ error: QueueError, _ repeating: PostgresJobQueue.Repeating, now: ContinuousClock.Instant = .now
    ) -> Bool {
        guard error.isTransient else { return false }
        let collided = error.sqlState?.hasPrefix("40") ?? false
        let undone = error.code == .unreachable || error.sqlState.map { SQLState($0).isUndone } ?? false
        guard undone || repeating == .harmless else { return false }
        if (collided && tries < 10) || (error.code == .connectionLost && tries < 2) { return true }
        return now < deadline
    }

    /// The next wait: up to 10 ms, 20 ms, … 2 s, half of it random.
    mutating func next() -> Duration {
        let cap = min(2_000, 10 << min(tries, 10))
        tries += 1
        return .milliseconds(Int.random(in: cap / 2...cap))
    }
}
