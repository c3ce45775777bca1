private import Concurrency
private import ImageModel

/// Migrates a database to this program's schema.
package struct Migrator: Sendable {
    /// A migration, applied or pending.
    package struct Step: Sendable {
        package let number: Int
        /// The file name without its extension.
        package let name: String
        /// ISO 8601 in UTC; nil if pending.
        package let appliedAt: String?
        /// True if applied by a newer program and unknown to this one.
        package var isNewer = false
    }

    /// A pending migration with its SQL.
    package struct PendingStep: Sendable {
        package let number: Int
        package let name: String
        /// Several statements.
        package let sql: String
    }

    /// The oldest supported major version of Postgres.
    package static let oldestServer = 15

    /// How long a migration waits for table locks. Other sessions wait behind it, so it gives up soon and retries.
    struct LockWait: Sendable {
        var timeout = Duration.seconds(2)
        var pause = Duration.seconds(1)
        var attempts = 100
    }

    private let connection: Connection
    private let migrations: [Migration]
    private let oldestServer: Int
    private let lockWait: LockWait

    package init(_ configuration: PostgresJobQueue.Configuration) {
        self.init(configuration, migrations: Migration.all)
    }

    init(
        _ configuration: PostgresJobQueue.Configuration, migrations: [Migration], oldestServer: Int = Self.oldestServer,
        lockWait: LockWait = LockWait()
    ) {
        var configuration = configuration
        configuration.statementTimeout = max(configuration.statementTimeout, .seconds(600))
        connection = Connection(configuration, name: "queue-migrate")
        self.migrations = migrations
        self.oldestServer = oldestServer
        self.lockWait = lockWait
    }

    /// Applied and pending migrations, including those only newer programs know. Throws `.changedMigration`,
    /// `.unreachable`, and `.refused` for a server older than Postgres 15.
    package func status() async throws(QueueError) -> [Step] {
        let (migrations, oldestServer) = (migrations, oldestServer)
        return try await connection.withSession { session throws(QueueError) in
            try Self.checkServer(&session, oldestServer)
            return try Self.steps(of: migrations, on: &session)
        }
    }

    /// The migrations that `migrate()` would run, in order. Throws as `migrate()` does before the first.
    package func pending() async throws(QueueError) -> [PendingStep] {
        var steps: [PendingStep] = []
        for step in try await knownSteps() where step.appliedAt == nil {
            steps.append(PendingStep(number: step.number, name: step.name, sql: migrations[step.number - 1].sql))
        }
        return steps
    }

    /// As `status()`, but throws `.newerSchema` too.
    private func knownSteps() async throws(QueueError) -> [Step] {
        let steps = try await status()
        try Self.refuseNewer(steps, than: migrations.count)
        return steps
    }

    private static func refuseNewer(_ steps: [Step], than count: Int) throws(QueueError) {
        guard let newer = steps.first(where: \.isNewer) else { return }
        throw QueueError(
            .newerSchema, "the database has migration \(newer.name), this program has only \(count) migrations")
    }

    /// Applies pending migrations while holding a lock on the migration table and returns them. An empty database gets
    /// all in one transaction, so that no program sees half a schema; otherwise each has its own. Several programs may
    /// migrate at once.
    ///
    /// Each of 100 attempts waits 2 s for a lock; pauses are 1 s. `waits` is called after each attempt without a lock
    /// or with a deadlock. Throws as `status()`, `.newerSchema`, and `.refused` if a migration fails.
    @discardableResult
    package func migrate(
        waits: @Sendable (QueueError) -> Void = { _ in }
    ) async throws(QueueError) -> [Step] {
        if try await knownSteps().allSatisfy({ $0.appliedAt != nil }) { return [] }
        try await createTable()
        var applied: [Step] = []
        while true {
            let steps = try await applyNext(waits)
            if steps.isEmpty { return applied }
            applied += steps
        }
    }

    private func applyNext(_ waits: @Sendable (QueueError) -> Void) async throws(QueueError) -> [Step] {
        for _ in 1..<lockWait.attempts {
            do throws(QueueError) {
                return try await tryNext()
            } catch {
                guard error.sqlState.map({ SQLState($0).isLockConflict }) ?? false else { throw error }
                waits(error)
                guard (try? await Task.sleep(for: lockWait.pause)) != nil else { throw error }
            }
        }
        return try await tryNext()
    }

    /// Creates the migration table if missing. If two programs collide here, the later one finds the table.
    private func createTable() async throws(QueueError) {
        for isLast in [false, false, true] {
            do throws(QueueError) {
                return try await connection.withSession { session throws(QueueError) in
                    let exists = try Self.hasTable(on: &session)
                    guard !exists else { return }
                    try session.run(
                        script: """
                            CREATE SCHEMA IF NOT EXISTS larder_data;
                            CREATE TABLE IF NOT EXISTS larder_data.migration (
                                number pg_catalog.int4 PRIMARY KEY, name pg_catalog.text NOT NULL,
                                checksum pg_catalog.bytea NOT NULL,
                                applied_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now());
                            COMMENT ON TABLE larder_data.migration IS 'The applied migrations, with the SHA-256 of their text.';
                            """, timeout: .seconds(60))
                }
            } catch {
                guard !isLast, error.sqlState.map({ SQLState($0).isCollision }) ?? false else {
                    throw error.namingPrivilege(first: true)
                }
            }
        }
    }

    private func tryNext() async throws(QueueError) -> [Step] {
        let (migrations, oldestServer, lockTimeout) = (migrations, oldestServer, lockWait.timeout)
        return try await connection.withSession { session throws(QueueError) in
            try Self.checkServer(&session, oldestServer)
            // Views and parsed function bodies keep the operators that are visible now.
            try session.run(
                script: "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = pg_catalog, pg_temp",
                timeout: .seconds(10))
            do throws(QueueError) {
                // Any login can take an advisory lock, so lock the table. A transaction's lock works through a pooler.
                try session.run(script: "LOCK TABLE larder_data.migration IN EXCLUSIVE MODE", timeout: .seconds(600))
                let steps = try Self.steps(of: migrations, on: &session)
                try Self.refuseNewer(steps, than: migrations.count)
                let pending = steps.filter { $0.appliedAt == nil }
                let next = pending.prefix(pending.count == steps.count ? steps.count : 1)
                try session.run(script: "SET LOCAL lock_timeout = \(lockTimeout.milliseconds)", timeout: .seconds(10))
                for step in next {
                    try Self.apply(migrations[step.number - 1], number: step.number, on: &session)
                }
                try session.run(script: "COMMIT", timeout: .seconds(60))
                return Array(next)
            } catch {
                if error.code != .connectionLost && error.code != .timeout {
                    try session.run(script: "ROLLBACK", timeout: .seconds(10))
                }
                throw error.namingPrivilege(first: false)
            }
        }
    }

    private static func apply(_ migration: Migration, number: Int, on session: inout Session) throws(QueueError) {
        do throws(QueueError) {
            try session.run(script: migration.sql, timeout: .seconds(600))
        } catch {
            let isLocked = error.sqlState == SQLState.lockNotAvailable.rawValue
            let reason = isLocked ? "an open transaction has a table that it changes locked" : error.message
            let named = QueueError(error.code, "migration \(migration.name): \(reason)", sqlState: error.sqlState)
            throw named.namingPrivilege(first: number == 1)
        }
        _ = try session.query(
            "INSERT INTO larder_data.migration (number, name, checksum) VALUES ($1, $2, sha256(convert_to($3, 'UTF8')))",
            [.integer(Int64(number)), .text(migration.name), .text(migration.sql)], timeout: .seconds(60))
    }

    /// An older server would only report a syntax error.
    private static func checkServer(_ session: inout Session, _ oldest: Int) throws(QueueError) {
        let rows = try session.query(
            "SELECT pg_catalog.current_setting('server_version_num')::bigint, pg_catalog.current_setting('server_version')",
            [],
            timeout: .seconds(60))
        guard let number = rows.integer(0, 0), number < oldest * 10_000 else { return }
        throw QueueError(.refused, "the server is Postgres \(rows.text(0, 1) ?? ""); Larder needs \(oldest) or newer")
    }

    private static func hasTable(on session: inout Session) throws(QueueError) -> Bool {
        try session.query(
            """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'larder_data' AND c.relname = 'migration')
            """, [], timeout: .seconds(60)
        ).flag(0, 0) == true
    }

    /// Applied migrations, verified against this program's.
    private static func steps(
        of migrations: [Migration], on session: inout Session
    ) throws(QueueError) -> [Step] {
        var applied: [String] = [], newer: [Step] = []
        if try hasTable(on: &session) {
            let rows: Rows
            do throws(QueueError) {
                rows = try session.query(
                    """
                    SELECT m.number, m.name, to_char(m.applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                           encode(m.checksum, 'hex') = k.checksum AND m.name = k.name
                    FROM larder_data.migration m
                    LEFT JOIN unnest($1, $2) WITH ORDINALITY AS k (name, checksum, number) USING (number)
                    ORDER BY m.number
                    """,
                    [
                        .texts(migrations.map(\.name)),
                        .texts(migrations.map { SHA256Digest.hex(of: $0.sql.utf8) }),
                    ], timeout: .seconds(60))
            } catch { throw error.namingPrivilege(first: false) }
            for row in 0..<rows.count {
                let name = rows.text(row, 1) ?? ""
                guard row < migrations.count else {
                    newer.append(Step(number: row + 1, name: name, appliedAt: rows.text(row, 2), isNewer: true))
                    continue
                }
                guard rows.integer(row, 0) == Int64(row + 1), rows.flag(row, 3) == true else {
                    throw QueueError(
                        .changedMigration, "migration \(name) was applied with another text than this program has")
                }
                applied.append(rows.text(row, 2) ?? "")
            }
        }
        return migrations.enumerated().map { index, migration in
            Step(
                number: index + 1, name: migration.name, appliedAt: index < applied.count ? applied[index] : nil)
        } + newer
    }
}

extension QueueError {
    /// The same error; for a missing privilege, with the privilege that a migrating login needs.
    fileprivate func namingPrivilege(first: Bool) -> QueueError {
        guard sqlState == SQLState.insufficientPrivilege.rawValue else { return self }
        let privilege =
            first
            ? "CREATE on the database (GRANT CREATE ON DATABASE … TO …)"
            : "the rights of the owner of schema larder_data (GRANT that role TO …)"
        return QueueError(code, "\(message); this login needs \(privilege)", sqlState: sqlState)
    }
}

/// A file in `migrations`, embedded in the program.
struct Migration: Sendable {
    /// File name without `.sql`.
    let name: String
    let sql: String

    /// All migrations in order, from number 1.
    static let all = EmbeddedText.all.map { Migration(String($0.name.dropLast(".sql".count)), $0.text) }

    init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }
}
